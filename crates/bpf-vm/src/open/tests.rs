// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::btf::{Builder, Linkage, TypeId};

/// `.data`: `int x; struct { u8 low:3; u8 high:5; u16 y; } s; bool on; enum mode m; char name[8]; u64 a[2];`
fn object() -> OpenObject {
    let mut btf = Builder::new();
    let int = btf.int("int", 4, true);
    let byte = btf.int("unsigned char", 1, false);
    let short = btf.int("unsigned short", 2, false);
    let long = btf.int("unsigned long", 8, false);
    let boolean = btf.int("_Bool", 1, false);
    let structure = btf.structure("pair", 4, &[]);
    let member = |name: &str, type_id: TypeId, bit_offset, bitfield| crate::btf::Member {
        name: name.into(),
        type_id,
        bit_offset,
        bitfield,
    };
    let members = vec![member("low", byte, 0, 3), member("high", byte, 3, 5), member("y", short, 16, 0)];
    btf.define_members(structure, 4, members);
    let mode = btf.enumeration("mode", &[("MODE_SLOW", 0), ("MODE_FAST", 3)]);
    let name = btf.array(byte, 8);
    let array = btf.array(long, 2);
    let volatile = btf.volatile(array);
    let _ = btf.var("x", int, Linkage::Global);
    let variables = [
        ("x", 0, 4, int),
        ("s", 4, 4, structure),
        ("on", 8, 1, boolean),
        ("m", 12, 4, mode),
        ("name", 16, 8, name),
        ("a", 24, 16, volatile),
    ];
    let variable =
        |(name, offset, size, type_id): (&str, u64, u64, TypeId)| Variable { name: name.into(), offset, size, type_id };
    let section = DataSection {
        name: ".data".to_owned(),
        bytes: vec![0; 40],
        variables: variables.into_iter().map(variable).collect(),
        ..DataSection::default()
    };
    let map = MapDefinition { name: "stats".to_owned(), max_entries: 4, ..MapDefinition::default() };
    let object = Object { btf: Arc::new(btf.finish()), data: vec![section], maps: vec![map], ..Object::default() };
    OpenObject::new(Arc::new(object))
}

fn bytes(open: &OpenObject) -> &[u8] {
    &open.object().data[0].bytes
}

#[test]
fn values_land_in_their_bytes() {
    let mut open = object();
    open.set("x", "-2").unwrap();
    open.set("s.y", "0x102").unwrap();
    open.set("on", "true").unwrap();
    open.set("m", "MODE_FAST").unwrap();
    open.set("name", "\"abc\"").unwrap();
    open.set("a[1]", "1_000").unwrap();
    let expected = [
        &[0xfe, 0xff, 0xff, 0xff, 0, 0, 2, 1, 1, 0, 0, 0, 3, 0, 0, 0][..],
        b"abc\0\0\0\0\0",
        &[0, 0, 0, 0, 0, 0, 0, 0, 0xe8, 3, 0, 0, 0, 0, 0, 0],
    ];
    assert_eq!(bytes(&open), expected.concat());
    assert_eq!(open.integer("x"), Ok(-2));
    assert_eq!(open.integer("a[1]"), Ok(1000));
}

#[test]
fn a_bitfield_leaves_its_neighbour_alone() {
    let mut open = object();
    open.set("s.low", "5").unwrap();
    open.set("s.high", "17").unwrap();
    assert_eq!(bytes(&open)[4], 5 | 17 << 3);
    assert_eq!((open.integer("s.low"), open.integer("s.high")), (Ok(5), Ok(17)));
    assert_eq!(open.set("s.low", "8").unwrap_err().to_string(), "s.low is unsigned char: 8 is not between 0 and 7");
}

#[test]
fn the_parsed_object_stays_as_it_was() {
    let first = object();
    let mut second = first.clone();
    second.set("x", "1").unwrap();
    assert_eq!((first.integer("x"), second.integer("x")), (Ok(0), Ok(1)));
}

#[test]
fn mistakes_say_what_is_possible() {
    let mut open = object();
    let mut message = |name: &str, text: &str| open.set(name, text).unwrap_err().to_string();
    assert_eq!(message("nane", "1"), "there is no variable nane; did you mean name?");
    assert_eq!(message("s.z", "1"), "struct pair has no member z; did you mean y?");
    assert_eq!(message("x", "2147483648"), "x is int: 2147483648 is not between -2147483648 and 2147483647");
    assert_eq!(message("x", "fast"), "x is int: \"fast\" is not a whole number");
    assert_eq!(message("on", "yes"), "on is _Bool: \"yes\" is not true or false");
    assert_eq!(message("m", "MODE_FSAT"), "m is enum mode: \"MODE_FSAT\" is not one of slow, fast");
    assert_eq!(message("name", "12345678"), "name is unsigned char[8]: \"12345678\" is not at most 7 bytes long");
    assert_eq!(message("a[2]", "1"), "a[2]: index 2 is beyond its 2 elements");
    assert_eq!(message("a[x]", "1"), "a[x]: an index is a number");
    assert_eq!(message("x[0]", "1"), "x[0]: int is no array");
    assert_eq!(message("x.y", "1"), "x.y: int is no structure");
    assert!(message("s", "1").contains("set its members"));
    assert!(message("a", "1").contains("set its elements"));
}

#[test]
fn only_the_last_array_of_a_section_grows() {
    let mut open = object();
    open.resize("a", 4).unwrap();
    assert_eq!(bytes(&open).len(), 24 + 32);
    open.set("a[3]", "9").unwrap();
    assert_eq!(bytes(&open)[48], 9);
    assert!(open.set("a[4]", "9").is_err());
    open.resize("a", 1).unwrap();
    assert_eq!(bytes(&open).len(), 32);
    let mut message = |name: &str, count| open.resize(name, count).unwrap_err().to_string();
    assert_eq!(message("name", 16), "name cannot be resized: it is not the last variable of its section");
    assert_eq!(message("x", 2), "x cannot be resized: it is no array");
    assert_eq!(message("a", 0), "a cannot be resized: it would be empty, or over 1 GiB");
    assert_eq!(message("a", u64::MAX), "a cannot be resized: it would be empty, or over 1 GiB");
}

#[test]
fn maps_are_resized_by_name() {
    let mut open = object();
    open.set_max_entries("stats", 16).unwrap();
    assert_eq!(open.maps()[0].max_entries, 16);
    let error = open.set_max_entries("stat", 1).unwrap_err();
    assert_eq!(error.to_string(), "there is no map stat; did you mean stats?");
}

#[test]
fn the_maps_that_a_map_holds_are_resized_by_their_own_name() {
    let mut object = (**object().object()).clone();
    let inner = MapDefinition { name: "queues.inner".to_owned(), max_entries: 1, ..MapDefinition::default() };
    let outer = MapDefinition { name: "queues".to_owned(), max_entries: 2, ..MapDefinition::default() };
    object.maps.push(MapDefinition { inner: Some(Box::new(inner)), ..outer });
    let mut open = OpenObject::new(Arc::new(object));
    open.set_max_entries("queues.inner", 64).unwrap();
    open.set_max_entries("queues", 8).unwrap();
    let outer = &open.maps()[1];
    assert_eq!((outer.max_entries, outer.inner.as_ref().unwrap().max_entries), (8, 64));
    let error = open.set_max_entries("queue.inner", 1).unwrap_err();
    assert_eq!(error.to_string(), "there is no map queue.inner; did you mean queues.inner?");
}

#[test]
fn a_loaded_variable_is_shown_as_it_is_now() {
    let object = object().object().clone();
    let now = |variable: &str| match variable {
        "a" => Some([7_u64.to_le_bytes(), 9_u64.to_le_bytes()].concat()),
        "s" => Some(vec![0x56, 0, 0x2c, 1]),
        "m" => Some(vec![3, 0, 0, 0]),
        _ => None,
    };
    let shown = |name: &str| text_now(&object, name, now).unwrap();
    assert_eq!(
        ["a", "a[1]", "s.low", "s.y", "m"].map(|name| shown(name).unwrap()),
        ["{7, 9}", "9", "6", "300", "MODE_FAST"]
    );
    assert_eq!(shown("x"), None);
    assert!(text_now(&object, "b", now).is_err());
}

#[test]
fn variables_are_listed_with_their_types() {
    let listed = object().variables();
    assert_eq!(listed[5].name, "a");
    assert_eq!(listed[5].type_name, "volatile unsigned long[2]");
    assert_eq!((listed.len(), listed[5].size), (6, 16));
}

#[test]
fn what_a_variable_shows_sets_it() {
    let mut open = object();
    let settings = [("x", "-2"), ("s.high", "9"), ("on", "true"), ("m", "MODE_FAST"), ("m", "7"), ("a[1]", "1000")];
    for (name, value) in settings {
        open.set(name, value).unwrap();
        assert_eq!(open.text(name).unwrap(), value);
    }
    assert_eq!(open.text("a").unwrap(), "{0, 1000}");
    assert_eq!((open.text("s").unwrap(), object().text("s").unwrap()), ("{…}".to_owned(), "{0}".to_owned()));
    // Bytes without a sign are shown as numbers.
    open.set("name", "ab").unwrap();
    assert_eq!(open.text("name").unwrap(), "{97, 98, 0, 0, 0, 0, 0, 0}");
    assert!(open.text("y").is_err());
}

#[test]
fn members_of_a_programs_argument_are_set_by_name() {
    let mut builder = Builder::new();
    let (u64_type, u32_type) = (builder.int("u64", 8, false), builder.int("u32", 4, false));
    let children = builder.array(u32_type, 3);
    let args = builder.structure("args", 24, &[("pages", u64_type, 0), ("children", children, 8)]);
    let pointer = builder.pointer(args);
    let proto = builder.func_proto(u32_type, &[("args", pointer)]);
    builder.func("init", proto);
    let object = Object { btf: Arc::new(builder.finish()), ..Object::default() };
    let mut record = Record::argument_of(&object, "init").unwrap();
    record.set("pages", 0x1_0000_0008).unwrap();
    record.set("children[2]", 7).unwrap();
    assert_eq!(record.bytes()[..8], 0x1_0000_0008_u64.to_le_bytes());
    assert_eq!(record.bytes()[8..], [0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
    record.bytes_mut()[12] = 9;
    assert_eq!(record.get("children[1]"), Ok(9));
    assert!(record.set("children[3]", 7).is_err() && record.set("children[0]", 1 << 32).is_err());
    assert!(record.set("page", 1).unwrap_err().to_string().contains("pages"));
    assert!(Record::argument_of(&object, "exit").is_none());
}

/// `enum mode mode = MODE_FAST; u32 slice[2]` with tags, `int state` without.
fn tagged() -> OpenObject {
    let mut btf = Builder::new();
    let int = btf.int("int", 4, true);
    let unsigned = btf.int("unsigned int", 4, false);
    let mode = btf.enumeration("mode", &[("T_MODE_OFF", 0), ("T_MODE_FAST", 1), ("T_MODE_VERY_FAST", 2)]);
    let slices = btf.array(unsigned, 2);
    let mut tag = |name: &str, type_id, tags: &[&str]| {
        let var = btf.var(name, type_id, Linkage::Global);
        for text in tags {
            btf.decl_tag(text, var);
        }
    };
    tag("mode", mode, &["help How fast.", "needs tick FLAG"]);
    tag(
        "slice",
        slices,
        &["range 100..1000", "unit us", "help A slice.", "letter 100: section 4", "fact The length.", "other 7"],
    );
    tag("more", int, &["needs tick yield"]);
    // A tag for other readers, and ranges that are none.
    tag("state", int, &["user", "range 5..1", "range few"]);
    let variable =
        |(name, offset, size, type_id): (&str, u64, u64, TypeId)| Variable { name: name.into(), offset, size, type_id };
    let variables = [("mode", 0, 4, mode), ("slice", 4, 8, slices), ("state", 12, 4, int), ("more", 16, 4, int)];
    let section = DataSection {
        name: ".rodata".to_owned(),
        bytes: [1_u32, 500, 500, 0, 0].iter().flat_map(|value| value.to_le_bytes()).collect(),
        variables: variables.into_iter().map(variable).collect(),
        ..DataSection::default()
    };
    OpenObject::new(Arc::new(Object { btf: Arc::new(btf.finish()), data: vec![section], ..Object::default() }))
}

#[test]
fn an_object_says_ranges_units_and_sentences_of_its_settings() {
    let listed = tagged().variables();
    let slice = Tags {
        range: Some((100, 1000)),
        unit: Some("us".to_owned()),
        help: Some("A slice.".to_owned()),
        letter: Some("100: section 4".to_owned()),
        fact: Some("The length.".to_owned()),
        needs: Vec::new(),
    };
    assert_eq!(listed[1].tags, Some(slice));
    assert_eq!(listed[0].names, ["off", "fast", "very_fast"]);
    assert_eq!((&listed[2].tags, listed[2].names.len()), (&None, 0));
}

/// `tick` stands in for `yield` while `anywhere` is on; both are only needed if `wanted` is.
fn standing_in(wanted: u8, anywhere: u8) -> OpenObject {
    let mut btf = Builder::new();
    let boolean = btf.int("_Bool", 1, false);
    let mut variable = |name: &str, offset: u64, tag: &str| {
        let var = btf.var(name, boolean, Linkage::Global);
        btf.decl_tag(tag, var);
        Variable { name: name.into(), offset, size: 1, type_id: boolean }
    };
    let variables = vec![variable("wanted", 0, "needs yield"), variable("anywhere", 1, "instead yield tick")];
    let section =
        DataSection { name: ".rodata".to_owned(), bytes: vec![wanted, anywhere], variables, ..DataSection::default() };
    OpenObject::new(Arc::new(Object { btf: Arc::new(btf.finish()), data: vec![section], ..Object::default() }))
}

#[test]
fn of_two_parts_that_stand_in_for_each_other_one_is_left_out() {
    let left_out = |wanted, anywhere| {
        let needs = standing_in(wanted, anywhere).needs();
        ["yield", "tick"].into_iter().filter(|part| needs.leave_out(part)).collect::<Vec<_>>()
    };
    assert_eq!(left_out(1, 0), ["tick"]);
    assert_eq!(left_out(1, 1), ["yield"]);
    assert_eq!((left_out(0, 0), left_out(0, 1)), (vec!["yield", "tick"], vec!["yield", "tick"]));
    // A loader sets it, no user.
    assert!(!standing_in(1, 0).is_setting("anywhere"));
    assert_eq!(standing_in(1, 1).needs().needed().collect::<Vec<_>>(), ["tick"]);
}

#[test]
fn a_number_has_the_bits_of_the_settings_that_are_on() {
    let mut btf = Builder::new();
    let int = btf.int("unsigned int", 4, false);
    let mut variable = |name: &str, offset: u64, tags: &[&str]| {
        let var = btf.var(name, int, Linkage::Global);
        tags.iter().for_each(|tag| _ = btf.decl_tag(tag, var));
        Variable { name: name.into(), offset, size: 4, type_id: int }
    };
    // What is no such tag, or of a variable that is not there, does nothing.
    let variables = vec![
        variable("one", 0, &["adds sum 0x1", "help It."]),
        variable("more", 4, &["adds sum 0x80000006", "adds sum 8", "adds", "adds other 0x1"]),
        variable("sum", 8, &[]),
    ];
    let bytes = [0_u32, 7, 0x10].iter().flat_map(|value| value.to_le_bytes()).collect();
    let section = DataSection { name: ".rodata".to_owned(), bytes, variables, ..DataSection::default() };
    let object = Object { btf: Arc::new(btf.finish()), data: vec![section], ..Object::default() };
    let mut open = OpenObject::new(Arc::new(object));
    assert_eq!(open.integer("sum"), Ok(0x8000_0006));
    open.set("one", "2").unwrap();
    assert_eq!(open.integer("sum"), Ok(0x8000_0007));
    open.choose("more", "0").unwrap_err();
    open.set_integer("more", 0).unwrap();
    assert_eq!(open.integer("sum"), Ok(1));
    assert!(!open.is_setting("sum"));
}

#[test]
fn a_number_outside_the_range_is_refused_with_the_range() {
    let mut open = tagged();
    open.set("slice[1]", "100").unwrap();
    open.set_integer("slice[0]", 1000).unwrap();
    assert_eq!((open.integer("slice[0]"), open.integer("slice[1]")), (Ok(1000), Ok(100)));
    let error = open.set("slice[1]", "99").unwrap_err();
    assert_eq!(error.to_string(), "slice[1] must be 100 to 1000 us, not 99");
    assert!(open.set_integer("slice[0]", 1001).is_err());
    assert_eq!((open.integer("slice[0]"), open.integer("slice[1]")), (Ok(1000), Ok(100)));
}

#[test]
fn enumerators_are_named_short_and_in_letters_of_either_case() {
    let mut open = tagged();
    for (text, number) in [("off", 0), ("Very_Fast", 2), ("T_MODE_FAST", 1), ("t_mode_off", 0), ("2", 2)] {
        open.set("mode", text).unwrap();
        assert_eq!(open.integer("mode"), Ok(number), "{text}");
    }
    assert_eq!(open.text("mode"), Ok("very_fast".to_owned()));
    let mut message = |text: &str| open.set("mode", text).unwrap_err().to_string();
    assert_eq!(message("of"), "mode is enum mode: \"of\" is not one of off, fast, very_fast; did you mean off?");
    assert_eq!(message("3"), "mode is enum mode: \"3\" is not one of off, fast, very_fast");
}

#[test]
fn a_user_sets_what_the_object_calls_a_setting() {
    let mut open = tagged();
    open.choose("slice[0]", "200").unwrap();
    assert!(open.is_setting("mode") && open.is_setting("slice[1]") && !open.is_setting("state"));
    let mut message = |name: &str| open.choose(name, "1").unwrap_err().to_string();
    assert_eq!(message("state"), "there is no setting state; the settings are mode, more, slice");
    assert_eq!(
        message("slise[1]"),
        "there is no setting slise; did you mean slice? The settings are mode, more, slice"
    );
    // The loader may set all variables; a user may, too, if the object does not say which are settings.
    open.set("state", "1").unwrap();
    object().choose("x", "1").unwrap();
    assert!(object().is_setting("x") && !object().is_setting("z"));
}

#[test]
fn what_only_settings_need_that_are_off_is_left_out() {
    let mut open = tagged();
    let left_out = |open: &OpenObject| {
        let needs = open.needs();
        ["tick", "yield", "FLAG", "enqueue"].map(|name| needs.leave_out(name))
    };
    // `mode` is on, `more` is not.
    assert_eq!(open.needs().needed().collect::<Vec<_>>(), ["FLAG", "tick"]);
    assert_eq!(left_out(&open), [false, true, false, false]);
    open.set("mode", "off").unwrap();
    assert_eq!(left_out(&open), [true, true, true, false]);
    open.set("more", "1").unwrap();
    assert_eq!(open.needs().needed().collect::<Vec<_>>(), ["tick", "yield"]);
    assert_eq!(left_out(&open), [false, false, true, false]);
}

#[test]
fn names_lose_the_words_that_all_begin_with() {
    let short = |names: &[&str]| {
        let value = |name: &&str| crate::btf::EnumValue { name: (*name).into(), value: 0 };
        short_names(&names.iter().map(value).collect::<Vec<_>>())
    };
    assert_eq!(short(&["A_B_ONE", "A_B_TWO"]), ["one", "two"]);
    // Only whole words are cut off, and something is left of each name.
    assert_eq!(short(&["A_BIG", "A_BLUE"]), ["big", "blue"]);
    assert_eq!(short(&["A_", "A_B"]), ["a_", "a_b"]);
    assert_eq!(short(&["A_B"]), ["a_b"]);
    assert!(short(&[]).is_empty());
}
