// SPDX-License-Identifier: GPL-2.0-only
/*
 * gil_disk.ko: read-only disks whose blocks lie in physical memory that the
 * kernel does not use. The simulator maps the images of the guest's packages
 * there: what nobody reads is never copied.
 *
 * Disk N is /dev/gildiskN. Addresses and sizes are the module's parameters:
 *
 *     gil_disk.at=0x80000000,0x80200000 gil_disk.bytes=0x200000,0xa000000
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/err.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/version.h>

#define NAME "gildisk"
#define DISKS_MAX 16

static unsigned long at[DISKS_MAX];
static unsigned int at_count;
module_param_array(at, ulong, &at_count, 0444);
MODULE_PARM_DESC(at, "physical addresses, at whole pages");

static unsigned long bytes[DISKS_MAX];
static unsigned int bytes_count;
module_param_array(bytes, ulong, &bytes_count, 0444);
MODULE_PARM_DESC(bytes, "sizes, in whole pages");

struct disk {
	void *base;
	struct gendisk *gendisk;
};

static struct disk disks[DISKS_MAX];
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

static int add(struct disk *disk, unsigned int number)
{
	struct gendisk *gendisk;
	int error;

	if (!bytes[number] || !PAGE_ALIGNED(at[number] | bytes[number]))
		return -EINVAL;
	disk->base = memremap(at[number], bytes[number], MEMREMAP_WB);
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
	set_capacity(gendisk, bytes[number] >> SECTOR_SHIFT);
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

static int __init disk_init(void)
{
	if (at_count != bytes_count)
		return -EINVAL;
	major = register_blkdev(0, NAME);
	if (major < 0)
		return major;
	for (; disks_count < at_count; disks_count++) {
		int error = add(&disks[disks_count], disks_count);

		if (error) {
			pr_err("gil_disk: disk %u (%lu bytes at 0x%lx) cannot be had: %d\n",
			       disks_count, bytes[disks_count], at[disks_count], error);
			remove_all();
			return error;
		}
	}
	return 0;
}

static void __exit disk_exit(void)
{
	remove_all();
}

module_init(disk_init);
module_exit(disk_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Read-only disks in memory that the kernel does not use");
