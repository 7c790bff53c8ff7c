// SPDX-License-Identifier: GPL-2.0-only
/*
 * gil_disk.ko: read-only disks whose blocks lie in physical memory that the
 * kernel does not use. The simulator maps the images of the guest's packages
 * there: what nobody reads is never copied.
 *
 * Disk N is /dev/gildiskN. The module's parameter is the address of the table
 * of disks, uapi/gil_disks.h:
 *
 *     gil_disk.at=0x80000000
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/err.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/version.h>

#include "gil_disk.h"
#include "uapi/gil_disks.h"

#define NAME "gildisk"

static unsigned long at;
module_param(at, ulong, 0444);
MODULE_PARM_DESC(at, "physical address of the table of disks, at a whole page");

struct disk {
	void *base;
	struct gendisk *gendisk;
};

static struct disk disks[GIL_DISKS_MAX];
static unsigned int disks_count;
static int major;

/* The block layer has checked that the sectors are the disk's. */
static void disk_submit_bio(struct bio *bio)
{
	const struct disk *disk = bio->bi_bdev->bd_disk->private_data;
	const char *from = disk->base;
	struct bio_vec vec;
	struct bvec_iter iter;

	if (bio_op(bio) != REQ_OP_READ) {
		bio_io_error(bio);
		return;
	}
	from += (size_t)bio->bi_iter.bi_sector << SECTOR_SHIFT;
	bio_for_each_segment(vec, bio, iter) {
		memcpy_to_bvec(&vec, from);
		from += vec.bv_len;
	}
	bio_endio(bio);
}

static const struct block_device_operations disk_operations = {
	.owner = THIS_MODULE,
	.submit_bio = disk_submit_bio,
};

static struct gendisk *allocate(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
	return blk_alloc_disk(NULL, NUMA_NO_NODE);
#else
	struct gendisk *gendisk = blk_alloc_disk(NUMA_NO_NODE);

	return gendisk ? gendisk : ERR_PTR(-ENOMEM);
#endif
}

static int add(struct disk *disk, const struct gil_disk *place, unsigned int number)
{
	struct gendisk *gendisk;
	int error;

	if (!place->len || !PAGE_ALIGNED(place->gpa | place->len))
		return -EINVAL;
	disk->base = memremap(place->gpa, place->len, MEMREMAP_WB);
	if (!disk->base)
		return -ENOMEM;
	gendisk = allocate();
	if (IS_ERR(gendisk)) {
		memunmap(disk->base);
		return PTR_ERR(gendisk);
	}
	gendisk->major = major;
	gendisk->first_minor = number;
	gendisk->minors = 1;
	gendisk->flags |= GENHD_FL_NO_PART;
	gendisk->fops = &disk_operations;
	gendisk->private_data = disk;
	snprintf(gendisk->disk_name, sizeof(gendisk->disk_name), NAME "%u", number);
	set_capacity(gendisk, place->len >> SECTOR_SHIFT);
	set_disk_ro(gendisk, true);
	error = add_disk(gendisk);
	if (error) {
		put_disk(gendisk);
		memunmap(disk->base);
		return error;
	}
	disk->gendisk = gendisk;
	return 0;
}

static void remove_all(void)
{
	while (disks_count) {
		struct disk *disk = &disks[--disks_count];

		del_gendisk(disk->gendisk);
		put_disk(disk->gendisk);
		memunmap(disk->base);
	}
	unregister_blkdev(major, NAME);
}

static int add_all(const struct gil_disks *table)
{
	if (table->magic != GIL_DISKS_MAGIC || table->count > GIL_DISKS_MAX) {
		pr_err("gil_disk: there is no table of disks at 0x%lx\n", at);
		return -EINVAL;
	}
	for (; disks_count < table->count; disks_count++) {
		const struct gil_disk *place = &table->disk[disks_count];
		int error = add(&disks[disks_count], place, disks_count);

		if (error) {
			pr_err("gil_disk: disk %u (%llu bytes at 0x%llx) cannot be had: %d\n",
			       disks_count, place->len, place->gpa, error);
			return error;
		}
	}
	return 0;
}

static int read_table(void)
{
	const struct gil_disks *table = memremap(at, sizeof(*table), MEMREMAP_WB);
	int error;

	if (!table)
		return -ENOMEM;
	error = add_all(table);
	memunmap((void *)table);
	return error;
}

static int __init disk_init(void)
{
	int error;

	if (!at || !PAGE_ALIGNED(at))
		return -EINVAL;
	error = gil_pause();
	if (error)
		return error;
	major = register_blkdev(0, NAME);
	if (major < 0)
		return major;
	error = read_table();
	if (error)
		remove_all();
	return error;
}

static void __exit disk_exit(void)
{
	remove_all();
}

module_init(disk_init);
module_exit(disk_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Read-only disks in memory that the kernel does not use");
