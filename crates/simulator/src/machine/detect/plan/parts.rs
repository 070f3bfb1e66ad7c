// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of Arm cores by the implementer and part numbers of /proc/cpuinfo (`MIDR_EL1`).

/// Numbers as in Linux's `arch/arm64/include/asm/cputype.h` and `arch/arm/include/asm/cputype.h`.
const PARTS: [(u32, u32, &str); 42] = [
    (0x41, 0xc07, "cortex-a7"),
    (0x41, 0xc09, "cortex-a9"),
    (0x41, 0xc0e, "cortex-a17"),
    (0x41, 0xc0f, "cortex-a15"),
    (0x41, 0xd03, "cortex-a53"),
    (0x41, 0xd04, "cortex-a35"),
    (0x41, 0xd05, "cortex-a55"),
    (0x41, 0xd07, "cortex-a57"),
    (0x41, 0xd08, "cortex-a72"),
    (0x41, 0xd09, "cortex-a73"),
    (0x41, 0xd0a, "cortex-a75"),
    (0x41, 0xd0b, "cortex-a76"),
    (0x41, 0xd0c, "neoverse-n1"),
    (0x41, 0xd0d, "cortex-a77"),
    (0x41, 0xd40, "neoverse-v1"),
    (0x41, 0xd41, "cortex-a78"),
    (0x41, 0xd42, "cortex-a78ae"),
    (0x41, 0xd44, "cortex-x1"),
    (0x41, 0xd46, "cortex-a510"),
    (0x41, 0xd47, "cortex-a710"),
    (0x41, 0xd48, "cortex-x2"),
    (0x41, 0xd49, "neoverse-n2"),
    (0x41, 0xd4b, "cortex-a78c"),
    (0x41, 0xd4c, "cortex-x1c"),
    (0x41, 0xd4d, "cortex-a715"),
    (0x41, 0xd4e, "cortex-x3"),
    (0x41, 0xd4f, "neoverse-v2"),
    (0x41, 0xd80, "cortex-a520"),
    (0x41, 0xd81, "cortex-a720"),
    (0x41, 0xd82, "cortex-x4"),
    (0x41, 0xd84, "neoverse-v3"),
    (0x41, 0xd85, "cortex-x925"),
    (0x41, 0xd87, "cortex-a725"),
    (0x51, 0x001, "oryon"),
    (0x51, 0x802, "kryo-3xx-gold"),
    (0x51, 0x803, "kryo-3xx-silver"),
    (0x51, 0x804, "kryo-4xx-gold"),
    (0x51, 0x805, "kryo-4xx-silver"),
    (0x61, 0x022, "icestorm"),
    (0x61, 0x023, "firestorm"),
    (0x61, 0x032, "blizzard"),
    (0x61, 0x033, "avalanche"),
];

/// The name of a part: `cortex-a53`, or `arm-41-d99` if it is not known.
pub(super) fn name(implementer: u32, part: u32) -> String {
    let known = PARTS.iter().find(|(maker, number, _)| (*maker, *number) == (implementer, part));
    known.map_or_else(|| format!("arm-{implementer:02x}-{part:03x}"), |(_, _, name)| (*name).to_owned())
}
