/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Prints what NVML says of each device that does not change with time, and whether the rest is
 * likely: the same in the guest and natively on a real device. It opens the library itself, as
 * most programs do. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void *library, *device;

/* Functions by what they are given: places, a number, the length of a text. */
typedef int (*nothing)(void);
typedef int (*of_place)(void *);
typedef int (*of_places)(void *, void *);
typedef int (*of_three)(void *, void *, void *);
typedef int (*of_four)(void *, unsigned int, void *, void *);
typedef int (*of_kind)(void *, unsigned int, void *);
typedef int (*of_index)(unsigned int, void *);
typedef int (*of_text)(void *, unsigned int);
typedef int (*of_device_text)(void *, void *, unsigned int);

static void *function(const char *name)
{
	char whole[96];

	snprintf(whole, sizeof(whole), "nvml%s", name);
	return dlsym(library, whole);
}

static void print(const char *name, int result, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	printf("%s %d", name, result);
	for (size_t i = 0; result == 0 && i < len; i++) {
		printf("%s%02x", i % 4 ? "" : " ", at[i]);
	}
	printf("\n");
}

static const char *const numbers[] = {
	"Brand", "Index", "MinorNumber", "ModuleId", "BoardId", "MultiGpuBoard", "Architecture",
	"NumGpuCores", "MaxPcieLinkGeneration", "GpuMaxPcieLinkGeneration", "MaxPcieLinkWidth",
	"PcieLinkMaxSpeed", "BusType", "IrqNum", "MemoryBusWidth", "DefaultEccMode",
	"PowerManagementMode", "PowerManagementLimit", "PowerManagementDefaultLimit",
	"EnforcedPowerLimit", "PowerSource", "NumFans", "PersistenceMode", "ComputeMode",
	"AccountingMode", "AccountingBufferSize", "MaxMigDeviceCount", "DisplayMode",
	"VirtualizationMode", "HostVgpuMode", "SupportedClocksEventReasons",
	"RetiredPagesPendingStatus", "AdaptiveClockInfoStatus",
};
static const char *const pairs[] = {
	"PowerManagementLimitConstraints", "EccMode", "MigMode", "CudaComputeCapability",
	"GspFirmwareMode", "GpuOperationMode", "MinMaxFanSpeed",
};
static const char *const of_kinds[] = {
	"MaxClockInfo", "ApplicationsClock", "DefaultApplicationsClock", "MaxCustomerBoostClock",
	"TemperatureThreshold", "EncoderCapacity", "APIRestriction", "NvLinkState", "NvLinkVersion",
	"NvLinkRemoteDeviceType",
};
static const char *const texts[] = {
	"Name", "UUID", "Serial", "VbiosVersion", "BoardPartNumber", "InforomImageVersion",
};
static const struct {
	const char *name;
	uint32_t version;
	size_t len;
} structures[] = {
	{"PciInfo_v3", 0, 68},
	{"Attributes_v2", 0, 40},
	{"RowRemapperHistogram", 0, 20},
	{"GpuFabricInfo", 0, 28},
	{"PciInfoExt", 0x01000040, 64},
	{"Capabilities", 0x01000008, 8},
	{"NvLinkInfo", 0x01000008, 8},
	{"NvLinkInfo", 0x0200064c, 0x64c},
	{"GpuFabricInfoV", 0x02000024, 36},
	{"GpuFabricInfoV", 0x03000028, 40},
	{"GpuFabricInfoV", 0x03000030, 0},
};

/* The function of this name about the device. */
static void *about(const char *name)
{
	char whole[80];

	snprintf(whole, sizeof(whole), "DeviceGet%s", name);
	return function(whole);
}

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void what_stays(void)
{
	static uint64_t place[1024];

	for (size_t i = 0; i < COUNT(numbers); i++) {
		memset(place, 0, sizeof(place));
		print(numbers[i], ((of_places)about(numbers[i]))(device, place), place, 8);
	}
	for (size_t i = 0; i < COUNT(pairs); i++) {
		memset(place, 0, sizeof(place));
		print(pairs[i], ((of_three)about(pairs[i]))(device, place, place + 1), place, 16);
	}
	for (size_t i = 0; i < COUNT(of_kinds); i++) {
		for (unsigned int kind = 0; kind < 4; kind++) {
			memset(place, 0, sizeof(place));
			print(of_kinds[i], ((of_kind)about(of_kinds[i]))(device, kind, place), place, 4);
		}
	}
	for (size_t i = 0; i < COUNT(texts); i++) {
		memset(place, 0, sizeof(place));
		int result = ((of_device_text)about(texts[i]))(device, place, 96);

		printf("%s %d %s\n", texts[i], result, (char *)place);
	}
	for (size_t i = 0; i < COUNT(structures); i++) {
		memset(place, 0, sizeof(place));
		memcpy(place, &structures[i].version, 4);
		print(structures[i].name, ((of_places)about(structures[i].name))(device, place), place,
		      structures[i].len);
	}
}

static void clocks(void)
{
	unsigned int count = 0, memory[64], graphics[512];
	of_three call = (of_three)about("SupportedMemoryClocks");

	printf("memory clocks %d", call(device, &count, NULL));
	printf(" %u\n", count);
	count = 64;
	int result = call(device, &count, memory);

	print("memory clocks", result, memory, count * sizeof(memory[0]));
	for (unsigned int i = 0; result == 0 && i < count; i++) {
		unsigned int more = 512;

		int found = ((of_four)about("SupportedGraphicsClocks"))(device, memory[i], &more,
									graphics);

		print("graphics clocks", found, graphics, more * sizeof(graphics[0]));
	}
}

/* What changes: whether it is there, and within bounds. */
static void what_changes(void)
{
	uint64_t memory[8] = {0}, versioned[8] = {0x02000028};
	unsigned long long energy = 0;
	unsigned int number = 0, rates[2] = {101, 101};
	int result = ((of_places)about("MemoryInfo"))(device, memory);
	int second = ((of_places)about("MemoryInfo_v2"))(device, versioned);

	printf("memory %d %llu %d %d\n", result, (unsigned long long)memory[0], memory[1] <= memory[0],
	       second == result && versioned[1] == memory[0]);
	result = ((of_places)about("UtilizationRates"))(device, rates);
	printf("utilization %d %d\n", result, rates[0] <= 100 && rates[1] <= 100);
	result = ((of_places)about("PowerUsage"))(device, &number);
	printf("power %d %d\n", result, number > 1000 && number < 2000000);
	result = ((of_kind)about("Temperature"))(device, 0, &number);
	printf("temperature %d %d\n", result, number > 5 && number < 120);
	result = ((of_places)about("TotalEnergyConsumption"))(device, &energy);
	printf("energy %d %d\n", result, energy > 0);
	result = ((of_kind)about("ClockInfo"))(device, 2, &number);
	printf("clock %d %d\n", result, number > 0 && number < 20000);
}

int main(void)
{
	unsigned int count = 0;
	char version[96] = "";
	int cuda = 0;

	library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	if (!library) {
		printf("%s\n", dlerror());
		return 2;
	}
	printf("start %d\n", ((nothing)function("Init_v2"))());
	printf("driver %d", ((of_text)function("SystemGetDriverVersion"))(version, 96));
	printf(" %s\n", version);
	printf("NVML %d", ((of_text)function("SystemGetNVMLVersion"))(version, 96));
	printf(" %s\n", version);
	printf("CUDA %d", ((of_place)function("SystemGetCudaDriverVersion_v2"))(&cuda));
	printf(" %d\n", cuda);
	printf("devices %d", ((of_place)function("DeviceGetCount_v2"))(&count));
	printf(" %u\n", count);
	for (unsigned int i = 0; i < count; i++) {
		if (((of_index)function("DeviceGetHandleByIndex_v2"))(i, &device) != 0) {
			printf("no device %u\n", i);
			continue;
		}
		what_stays();
		clocks();
		what_changes();
	}
	printf("end %d\n", ((nothing)function("Shutdown"))());
	return 0;
}
