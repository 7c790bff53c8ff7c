// SPDX-License-Identifier: GPL-2.0-only
/*
 * The clock of a GPU whose registers are RAM, for the kernel's frameworks of clocks and of
 * operating points: the GPU's driver, or what governs it, sets its rate, and the host
 * learns it.
 */
#include <linux/clk-provider.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/platform_device.h>
#include <linux/slab.h>

#include "gpu.h"

struct gpu_clock {
	struct clk_hw hw;
	unsigned long rate;
};

static struct gpu_clock *gpu_clock_of(struct clk_hw *hw)
{
	return container_of(hw, struct gpu_clock, hw);
}

static unsigned long gpu_clock_rate(struct clk_hw *hw, unsigned long parent)
{
	return gpu_clock_of(hw)->rate;
}

/* The host says whether it can have a rate. */
static int gpu_clock_choose(struct clk_hw *hw, struct clk_rate_request *request)
{
	return 0;
}

static int gpu_clock_set(struct clk_hw *hw, unsigned long rate,
			 unsigned long parent)
{
	int err = gil_gpu_tell_rate(rate);

	if (!err)
		gpu_clock_of(hw)->rate = rate;
	return err;
}

static const struct clk_ops gpu_clock_ops = {
	.recalc_rate = gpu_clock_rate,
	.determine_rate = gpu_clock_choose,
	.set_rate = gpu_clock_set,
};

static int gpu_clock_probe(struct platform_device *device)
{
	const struct clk_init_data init = { .name = "gil-gpu",
					    .ops = &gpu_clock_ops };
	struct device *dev = &device->dev;
	struct gpu_clock *clock;
	u32 rate;
	int err;

	clock = devm_kzalloc(dev, sizeof(*clock), GFP_KERNEL);
	if (!clock)
		return -ENOMEM;
	err = of_property_read_u32(dev->of_node, "clock-frequency", &rate);
	if (err)
		return err;
	clock->rate = rate;
	clock->hw.init = &init;
	err = devm_clk_hw_register(dev, &clock->hw);
	return err ?: devm_of_clk_add_hw_provider(dev, of_clk_hw_simple_get,
						  &clock->hw);
}

static const struct of_device_id gpu_clock_ids[] = {
	{ .compatible = "gil,gpu-clock" },
	{}
};

/* Whoever has the clock keeps this module, since the device is its driver's. */
static struct platform_driver gpu_clock_driver = {
	.probe = gpu_clock_probe,
	.driver = {
		.name = "gil-gpu-clock",
		.of_match_table = gpu_clock_ids,
		.suppress_bind_attrs = true,
	},
};

int gil_gpu_clock_begin(void)
{
	return platform_driver_register(&gpu_clock_driver);
}

void gil_gpu_clock_end(void)
{
	platform_driver_unregister(&gpu_clock_driver);
}
