/* SPDX-License-Identifier: GPL-2.0-only */
/* Objects that programs allocate: trees, lists, kptrs, references, spin locks. */
#include "check.h"

char _license[] SEC("license") = "GPL";

#define __contains(name, node) __attribute__((btf_decl_tag("contains:" #name ":" #node)))

extern void *bpf_obj_new_impl(u64 local_type_id, void *meta) __ksym;
extern void bpf_obj_drop_impl(void *kptr, void *meta) __ksym;
extern void *bpf_refcount_acquire_impl(void *kptr, void *meta) __ksym;
extern void *bpf_percpu_obj_new_impl(u64 local_type_id, void *meta) __ksym;
extern void bpf_percpu_obj_drop_impl(void *kptr, void *meta) __ksym;
extern int bpf_list_push_front_impl(struct bpf_list_head *, struct bpf_list_node *, void *meta, u64 off) __ksym;
extern int bpf_list_push_back_impl(struct bpf_list_head *, struct bpf_list_node *, void *meta, u64 off) __ksym;
extern struct bpf_list_node *bpf_list_pop_front(struct bpf_list_head *) __ksym;
extern struct bpf_list_node *bpf_list_pop_back(struct bpf_list_head *) __ksym;
extern int bpf_rbtree_add_impl(struct bpf_rb_root *, struct bpf_rb_node *,
			       bool (less)(struct bpf_rb_node *, const struct bpf_rb_node *), void *meta, u64 off) __ksym;
extern struct bpf_rb_node *bpf_rbtree_remove(struct bpf_rb_root *, struct bpf_rb_node *) __ksym;
extern struct bpf_rb_node *bpf_rbtree_first(struct bpf_rb_root *) __ksym;
extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;

#define bpf_obj_new(type) ((type *)bpf_obj_new_impl(bpf_core_type_id_local(type), NULL))

struct item {
	u64 key;
	struct bpf_rb_node rb;
	struct bpf_list_node list;
	struct bpf_refcount references;
	u64 order;
};

private(TREE) struct bpf_spin_lock lock;
private(TREE) struct bpf_rb_root tree __contains(item, rb);
private(TREE) struct bpf_list_head list __contains(item, list);

struct slot {
	struct item __kptr *item;
	u64 other;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4);
	__type(key, u32);
	__type(value, struct slot);
} slots SEC(".maps");

struct group {
	struct bpf_spin_lock lock;
	struct bpf_list_head members __contains(item, list);
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4);
	__type(key, u32);
	__type(value, struct group);
} groups SEC(".maps");

/* Addresses of items that went with a map's element: by a pointer, and by a list. */
u64 gone[2];

static bool item_less(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	return container_of(a, struct item, rb)->key < container_of(b, struct item, rb)->key;
}

static struct item *first(void)
{
	struct bpf_rb_node *node = bpf_rbtree_first(&tree);

	return node ? container_of(node, struct item, rb) : NULL;
}

TEST int a_tree_sorts(void *ctx)
{
	static const u64 keys[] = { 5, 1, 4, 1, 3, 9, 0, 5 }, sorted[] = { 0, 1, 1, 3, 4, 5, 5, 9 };
	u64 order = 0, last_key = 0, last_order = 0;
	struct item *item;
	u32 i;

	CHECK(!first());
	for (i = 0; i < 8; i++) {
		item = bpf_obj_new(struct item);
		CHECK(item);
		CHECK(item->key == 0 && item->order == 0);
		item->key = keys[i & 7];
		item->order = ++order;
		bpf_spin_lock(&lock);
		CHECK(bpf_rbtree_add_impl(&tree, &item->rb, item_less, NULL, 0) == 0);
		bpf_spin_unlock(&lock);
	}
	for (i = 0; i < 8; i++) {
		bpf_spin_lock(&lock);
		item = first();
		CHECK(item && item->key == sorted[i & 7]);
		/* Equal ones in the order of insertion. */
		CHECK(i == 0 || item->key != last_key || item->order > last_order);
		last_key = item->key;
		last_order = item->order;
		CHECK(bpf_rbtree_remove(&tree, &item->rb) == &item->rb);
		CHECK(!bpf_rbtree_remove(&tree, &item->rb));
		bpf_spin_unlock(&lock);
		bpf_obj_drop_impl(item, NULL);
	}
	CHECK(!first());
	return 0;
}

TEST int a_list_has_two_ends(void *ctx)
{
	struct bpf_list_node *node;
	struct item *item;
	u32 i;

	CHECK(!bpf_list_pop_front(&list) && !bpf_list_pop_back(&list));
	for (i = 0; i < 4; i++) {
		item = bpf_obj_new(struct item);
		CHECK(item);
		item->key = i;
		if (i & 1)
			CHECK(bpf_list_push_front_impl(&list, &item->list, NULL, 0) == 0);
		else
			CHECK(bpf_list_push_back_impl(&list, &item->list, NULL, 0) == 0);
	}
	/* 3 1 0 2 */
	node = bpf_list_pop_back(&list);
	CHECK(node && container_of(node, struct item, list)->key == 2);
	bpf_obj_drop_impl(container_of(node, struct item, list), NULL);
	for (i = 0; i < 3; i++) {
		static const u64 expected[] = { 3, 1, 0 };

		node = bpf_list_pop_front(&list);
		CHECK(node && container_of(node, struct item, list)->key == expected[HIDDEN(i) & 3]);
		bpf_obj_drop_impl(container_of(node, struct item, list), NULL);
	}
	CHECK(!bpf_list_pop_front(&list));
	return 0;
}

/* An object in a tree and a list at once has a reference for each. */
TEST int references_keep_an_object(void *ctx)
{
	struct item *item = bpf_obj_new(struct item), *again;
	struct bpf_list_node *node;

	CHECK(item);
	item->key = 70;
	again = bpf_refcount_acquire_impl(item, NULL);
	CHECK(again == item);
	CHECK(bpf_rbtree_add_impl(&tree, &item->rb, item_less, NULL, 0) == 0);
	CHECK(bpf_list_push_back_impl(&list, &again->list, NULL, 0) == 0);
	/* Queuing it once more fails and takes the reference given. */
	again = bpf_refcount_acquire_impl(item, NULL);
	CHECK(bpf_list_push_front_impl(&list, &again->list, NULL, 0) == -EINVAL);
	again = bpf_refcount_acquire_impl(item, NULL);
	CHECK(bpf_rbtree_add_impl(&tree, &again->rb, item_less, NULL, 0) == -EINVAL);

	CHECK(first() == item);
	CHECK(bpf_rbtree_remove(&tree, &item->rb) == &item->rb);
	bpf_obj_drop_impl(item, NULL);
	node = bpf_list_pop_front(&list);
	CHECK(node == &item->list);
	CHECK(item->key == 70);
	bpf_obj_drop_impl(item, NULL);
	return 0;
}

TEST int maps_hold_kptrs(void *ctx)
{
	struct slot empty = {}, *slot;
	struct item *item, *old;
	u32 key = 3;

	CHECK(bpf_map_update_elem(&slots, &key, &empty, BPF_ANY) == 0);
	slot = bpf_map_lookup_elem(&slots, &key);
	CHECK(slot && !slot->item);
	item = bpf_obj_new(struct item);
	CHECK(item);
	item->key = 9;
	old = bpf_kptr_xchg(&slot->item, item);
	CHECK(!old);
	bpf_rcu_read_lock();
	CHECK(slot->item == item && slot->item->key == 9);
	bpf_rcu_read_unlock();
	old = bpf_kptr_xchg(&slot->item, NULL);
	CHECK(old == item && !slot->item);
	bpf_obj_drop_impl(old, NULL);
	/* One that stays when its element goes is dropped with it. */
	item = bpf_obj_new(struct item);
	CHECK(item);
	CHECK(!bpf_kptr_xchg(&slot->item, item));
	gone[0] = (u64)item;
	CHECK(bpf_map_delete_elem(&slots, &key) == 0);
	return 0;
}

TEST int a_list_goes_with_its_element(void *ctx)
{
	struct group empty = {}, *group;
	struct item *item;
	u32 key = 1, i;

	CHECK(bpf_map_update_elem(&groups, &key, &empty, BPF_ANY) == 0);
	group = bpf_map_lookup_elem(&groups, &key);
	CHECK(group);
	for (i = 0; i < 3; i++) {
		item = bpf_obj_new(struct item);
		CHECK(item);
		gone[1] = (u64)item;
		bpf_spin_lock(&group->lock);
		bpf_list_push_back_impl(&group->members, &item->list, NULL, 0);
		bpf_spin_unlock(&group->lock);
	}
	CHECK(bpf_map_delete_elem(&groups, &key) == 0);
	return 0;
}

/* A host calls these two to see the faults: what an element owned is gone with it. */
SEC("?syscall") int use_after_delete(void *ctx)
{
	return ((struct item *)gone[0])->key;	/* gone with its pointer */
}

SEC("?syscall") int use_after_list(void *ctx)
{
	return ((struct item *)gone[1])->key;	/* gone with its list */
}

struct count {
	u64 value;
};

TEST int an_object_for_each_cpu(void *ctx)
{
	struct count __percpu_kptr *counts = bpf_percpu_obj_new_impl(bpf_core_type_id_local(struct count), NULL);
	struct count *mine, *first;

	CHECK(counts);
	mine = bpf_this_cpu_ptr(counts);
	first = bpf_per_cpu_ptr(counts, 0);
	CHECK(mine && first);
	mine->value = 7;
	CHECK(bpf_get_smp_processor_id() == 0 ? first->value == 7 : first->value == 0);
	CHECK(!bpf_per_cpu_ptr(counts, 1 << 20));
	bpf_percpu_obj_drop_impl(counts, NULL);
	return 0;
}

/* A host calls this to see the fault: what was dropped is gone. */
SEC("?syscall") int use_after_drop(void *ctx)
{
	struct item *item = bpf_obj_new(struct item);

	CHECK(item);
	bpf_obj_drop_impl(item, NULL);
	return item->key;			/* use after free */
}
