/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Prints what NVML answers, query by query and device by device: the same in the guest and
 * natively. Over tests/null-nvml each answer is another number. */
#include "nvml_calls.h"

/* Every byte of what was written, if the call succeeded. */
static void show(const char *name, int result, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	printf("%s: %d", name, result);
	for (size_t i = 0; result == NVML_SUCCESS && i < len; i++) {
		printf("%s%02x", i % 4 ? "" : " ", at[i]);
	}
	printf("\n");
}

/* Numbers that a call writes behind its arguments; one without a place for them. */
#define NUMBER(type, call, ...)                                                                    \
	do {                                                                                       \
		type number_ = 0;                                                                  \
		show(#call, call(__VA_ARGS__ __VA_OPT__(, ) & number_), &number_, sizeof(number_)); \
		show(#call, call(__VA_ARGS__ __VA_OPT__(, ) NULL), NULL, 0);                       \
	} while (0)
#define NUMBERS(type, call, ...)                                                                   \
	do {                                                                                       \
		type all_[2] = {0};                                                                \
		show(#call, call(__VA_ARGS__, &all_[0], &all_[1]), all_, sizeof(all_));            \
	} while (0)
#define NUMBERS3(type, call, ...)                                                                  \
	do {                                                                                       \
		type all_[3] = {0};                                                                \
		show(#call, call(__VA_ARGS__, &all_[0], &all_[1], &all_[2]), all_, sizeof(all_));  \
	} while (0)
#define NUMBERS4(type, call, ...)                                                                  \
	do {                                                                                       \
		type all_[4] = {0};                                                                \
		show(#call, call(__VA_ARGS__, &all_[0], &all_[1], &all_[2], &all_[3]), all_,       \
		     sizeof(all_));                                                                \
	} while (0)
/* A text, and one for which there is too little room. */
#define TEXT(call, ...)                                                                            \
	do {                                                                                       \
		char text_[96] = "";                                                               \
		int result_ = call(__VA_ARGS__ __VA_OPT__(, ) text_, sizeof(text_));               \
		show(#call, result_, text_, strlen(text_));                                        \
		show(#call, call(__VA_ARGS__ __VA_OPT__(, ) text_, 4), NULL, 0);                   \
	} while (0)
/* A structure of so many bytes. */
#define STRUCTURE(len, call, ...)                                                                  \
	do {                                                                                       \
		uint64_t place_[(len) / 8 + 1] = {0};                                              \
		show(#call, call(__VA_ARGS__ __VA_OPT__(, ) place_), place_, len);                 \
	} while (0)
/* A structure whose first word says its version and how long it is; one of an unknown version;
 * none. */
#define VERSIONED(version, call, ...)                                                              \
	do {                                                                                       \
		static uint32_t place_[0x1000];                                                    \
		memset(place_, 0, sizeof(place_));                                                 \
		place_[0] = version;                                                               \
		place_[1] = 1;                                                                     \
		show(#call, call(__VA_ARGS__ __VA_OPT__(, ) place_), place_, (version) & 0xffffff); \
		place_[0] = (version) + 4;                                                         \
		show(#call, call(__VA_ARGS__ __VA_OPT__(, ) place_), NULL, 0);                     \
		show(#call, call(__VA_ARGS__ __VA_OPT__(, ) NULL), NULL, 0);                       \
	} while (0)

/* Which device it is: handles differ from process to process. */
static unsigned int index_of(void *device)
{
	unsigned int index = 99;

	show("index", nvmlDeviceGetIndex(device, &index), &index, sizeof(index));
	return index;
}

static void before_the_start(void)
{
	unsigned int number;
	void *device;
	char text[96];

	GIVES(NVML_ERROR_UNINITIALIZED, nvmlShutdown());
	GIVES(NVML_ERROR_UNINITIALIZED, nvmlDeviceGetCount_v2(&number));
	GIVES(NVML_ERROR_UNINITIALIZED, nvmlDeviceGetHandleByIndex_v2(0, &device));
	GIVES(NVML_ERROR_UNINITIALIZED, nvmlSystemGetDriverVersion(text, sizeof(text)));
	GIVES(NVML_ERROR_UNINITIALIZED, nvmlDeviceGetPowerUsage(NULL, &number));
}

/* As many ends as starts are the end. */
static void starts(void)
{
	unsigned int number;
	void *device;

	OK(nvmlInit_v2());
	OK(nvmlInit());
	OK(nvmlInitWithFlags(1 << 2));
	OK(nvmlShutdown());
	OK(nvmlShutdown());
	OK(nvmlDeviceGetCount_v2(&number));
	OK(nvmlDeviceGetHandleByIndex_v2(0, &device));
	OK(nvmlShutdown());
	GIVES(NVML_ERROR_UNINITIALIZED, nvmlDeviceGetCount_v2(&number));
	GIVES(NVML_ERROR_UNINITIALIZED, nvmlDeviceGetPowerUsage(device, &number));
	GIVES(NVML_ERROR_UNINITIALIZED, nvmlShutdown());
	OK(nvmlInit_v2());
}

static void errors(void)
{
	IS(strcmp(nvmlErrorString(NVML_SUCCESS), nvmlErrorString(NVML_ERROR_NOT_FOUND)) != 0);
	IS(strcmp(nvmlErrorString(NVML_SUCCESS), nvmlErrorString(NVML_ERROR_UNINITIALIZED)) != 0);
	IS(strcmp(nvmlErrorString(12345), nvmlErrorString(999)) == 0);
}

static void system_queries(void)
{
	static uint32_t branch[0x54 / 4];

	TEXT(nvmlSystemGetDriverVersion);
	TEXT(nvmlSystemGetNVMLVersion);
	NUMBER(int, nvmlSystemGetCudaDriverVersion);
	NUMBER(int, nvmlSystemGetCudaDriverVersion_v2);
	NUMBER(unsigned int, nvmlSystemGetNvlinkBwMode);
	STRUCTURE(8, nvmlSystemGetConfComputeCapabilities);
	STRUCTURE(12, nvmlSystemGetConfComputeState);
	NUMBER(unsigned int, nvmlSystemGetConfComputeGpusReadyState);
	VERSIONED(0x01000014, nvmlSystemGetConfComputeSettings);
	NUMBER(unsigned int, nvmlUnitGetCount);
	NUMBER(unsigned int, nvmlGetExcludedDeviceCount);
	STRUCTURE(148, nvmlGetExcludedDeviceInfoByIndex, 1);
	branch[0] = 0x01000054;
	show("nvmlSystemGetDriverBranch", nvmlSystemGetDriverBranch(branch, 80), branch, sizeof(branch));
	branch[0] = 0x02000054;
	show("nvmlSystemGetDriverBranch", nvmlSystemGetDriverBranch(branch, 80), NULL, 0);
}

/* By each of its names it is the same device; by another there is none. */
static void names(void *device)
{
	char text[96];
	struct {
		unsigned int words[9];
		char place[32];
	} pci;
	void *found = NULL;

	OK(nvmlDeviceGetName(device, text, sizeof(text)));
	printf("%s\n", text);
	GIVES(NVML_ERROR_INSUFFICIENT_SIZE, nvmlDeviceGetName(device, text, 3));
	GIVES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetName(device, NULL, 96));
	OK(nvmlDeviceGetUUID(device, text, sizeof(text)));
	printf("%s\n", text);
	OK(nvmlDeviceGetHandleByUUID(text, &found));
	IS(found == device);
	OK(nvmlDeviceGetSerial(device, text, sizeof(text)));
	printf("%s\n", text);
	found = NULL;
	OK(nvmlDeviceGetHandleBySerial(text, &found));
	IS(found == device);
	OK(nvmlDeviceGetPciInfo_v3(device, &pci));
	show("nvmlDeviceGetPciInfo_v3", 0, &pci, sizeof(pci));
	found = NULL;
	OK(nvmlDeviceGetHandleByPciBusId_v2(pci.place, &found));
	IS(found == device);
	OK(nvmlDeviceGetHandleByPciBusId(pci.place, &found));
	IS(found == device);
	NUMBER(int, nvmlDeviceQueryDrainState, &pci);
	pci.words[3]++;
	NUMBER(int, nvmlDeviceQueryDrainState, &pci);
	GIVES(NVML_ERROR_NOT_FOUND, nvmlDeviceGetHandleByUUID("another", &found));
	GIVES(NVML_ERROR_NOT_FOUND, nvmlDeviceGetHandleBySerial("another", &found));
	GIVES(NVML_ERROR_NOT_FOUND, nvmlDeviceGetHandleByPciBusId_v2("0000:99:00.0", &found));
	GIVES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetHandleByPciBusId_v2("another", &found));
	GIVES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetHandleByUUID(NULL, &found));
	memset(text, 0, sizeof(text));
	show("nvmlDeviceGetGspFirmwareVersion", nvmlDeviceGetGspFirmwareVersion(device, text), text, 64);
}

static void lists(void *device)
{
	unsigned int count = 0, clocks[16];
	unsigned long long pages[8], times[8];
	struct {
		unsigned long long time, value;
	} samples[8];
	void *near[2];
	int kind;

	GIVES(NVML_ERROR_INSUFFICIENT_SIZE, nvmlDeviceGetSupportedMemoryClocks(device, &count, NULL));
	show("clocks", 0, &count, sizeof(count));
	count = 2;
	GIVES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetSupportedMemoryClocks(device, &count, NULL));
	GIVES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetRetiredPages(device, 0, &count, NULL));
	GIVES(NVML_ERROR_INSUFFICIENT_SIZE, nvmlDeviceGetSupportedMemoryClocks(device, &count, clocks));
	show("clocks", 0, &count, sizeof(count));
	count = 16;
	OK(nvmlDeviceGetSupportedMemoryClocks(device, &count, clocks));
	show("clocks", 0, clocks, count * sizeof(clocks[0]));
	GIVES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetSupportedMemoryClocks(device, NULL, clocks));
	for (unsigned int memory = 1000; memory < 1002; memory++) {
		count = 16;
		OK(nvmlDeviceGetSupportedGraphicsClocks(device, memory, &count, clocks));
		show("clocks", 0, clocks, count * sizeof(clocks[0]));
	}
	for (int cause = 0; cause < 2; cause++) {
		count = 8;
		OK(nvmlDeviceGetRetiredPages(device, cause, &count, pages));
		show("pages", 0, pages, count * sizeof(pages[0]));
		count = 1;
		GIVES(NVML_ERROR_INSUFFICIENT_SIZE, nvmlDeviceGetRetiredPages(device, cause, &count, pages));
		OK(nvmlDeviceGetRetiredPages_v2(device, cause, &count, pages, times));
		show("pages", 0, pages, count * sizeof(pages[0]));
		show("times", 0, times, count * sizeof(times[0]));
	}
	count = 8;
	OK(nvmlDeviceGetSamples(device, 3, 1234567890123ull, &kind, &count, (void *)samples));
	show("samples", 0, samples, count * sizeof(samples[0]));
	show("kind", 0, &kind, sizeof(kind));
	count = 0;
	GIVES(NVML_ERROR_INSUFFICIENT_SIZE, nvmlDeviceGetSamples(device, 3, 5, &kind, &count, NULL));
	show("count", 0, &count, sizeof(count));
	count = 2;
	OK(nvmlDeviceGetTopologyNearestGpus(device, 10, &count, near));
	IS(count == 1);
	IS(index_of(near[0]) != index_of(device));
	count = 2;
	OK(nvmlDeviceGetTopologyNearestGpus(device, 0, &count, near));
	IS(count == 0);
}

static void fields(void *device)
{
	struct {
		unsigned int id, scope;
		long long time, latency;
		int kind, result;
		unsigned long long value;
	} fields[3] = {{.id = 1}, {.id = 83, .scope = 2}, {.id = 165}};
	int states[8];

	GIVES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetFieldValues(device, 0, fields));
	GIVES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetFieldValues(device, -1, fields));
	OK(nvmlDeviceGetFieldValues(device, 3, fields));
	show("fields", 0, fields, sizeof(fields));
	OK(nvmlDeviceGetSupportedPerformanceStates(device, states, sizeof(states)));
	show("states", 0, states, sizeof(states));
	show("nvmlDeviceValidateInforom", nvmlDeviceValidateInforom(device), NULL, 0);
}

static void parts(void *device)
{
	void *part, *whole;
	uint32_t current[2] = {0x01000008}, pending[2] = {0x01000008};

	GIVES(NVML_ERROR_NOT_FOUND, nvmlDeviceGetMigDeviceHandleByIndex(device, 0, &part));
	OK(nvmlDeviceGetMigDeviceHandleByIndex(device, 3, &part));
	IS(index_of(part) != index_of(device));
	OK(nvmlDeviceGetDeviceHandleFromMigDeviceHandle(part, &whole));
	IS(whole == device);
	OK(nvmlDeviceGetDramEncryptionMode(device, current, pending));
	show("current", 0, current, sizeof(current));
	show("pending", 0, pending, sizeof(pending));
	pending[0] = 5;
	GIVES(NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
	      nvmlDeviceGetDramEncryptionMode(device, current, pending));
	STRUCTURE(40, nvmlDeviceGetAttributes, device);
}

static void queries(void *device, void *other)
{
	NUMBER(int, nvmlDeviceGetBrand, device);
	NUMBER(unsigned int, nvmlDeviceGetModuleId, device);
	NUMBER(unsigned int, nvmlDeviceGetMinorNumber, device);
	NUMBER(unsigned int, nvmlDeviceGetBoardId, device);
	NUMBER(unsigned int, nvmlDeviceGetMultiGpuBoard, device);
	TEXT(nvmlDeviceGetBoardPartNumber, device);
	TEXT(nvmlDeviceGetVbiosVersion, device);
	TEXT(nvmlDeviceGetInforomVersion, device, 1);
	TEXT(nvmlDeviceGetInforomImageVersion, device);
	NUMBER(unsigned int, nvmlDeviceGetInforomConfigurationChecksum, device);
	NUMBERS(unsigned int, nvmlDeviceGetGspFirmwareMode, device);
	NUMBER(unsigned int, nvmlDeviceGetArchitecture, device);
	NUMBERS(int, nvmlDeviceGetCudaComputeCapability, device);
	NUMBER(unsigned int, nvmlDeviceGetNumGpuCores, device);
	STRUCTURE(40, nvmlDeviceGetAttributes_v2, device);
	VERSIONED(0x01000008, nvmlDeviceGetCapabilities, device);
	VERSIONED(0x01000010, nvmlDeviceGetPdi, device);
	VERSIONED(0x01000008, nvmlDeviceGetAddressingMode, device);
	VERSIONED(0x0100000c, nvmlDeviceGetRepairStatus, device);
	NUMBER(int, nvmlDeviceGetDisplayMode, device);
	NUMBER(int, nvmlDeviceGetDisplayActive, device);
	NUMBERS(int, nvmlDeviceGetDriverModel_v2, device);
	NUMBER(int, nvmlDeviceGetVirtualizationMode, device);
	NUMBER(int, nvmlDeviceGetHostVgpuMode, device);
	STRUCTURE(16, nvmlDeviceGetConfComputeMemSizeInfo, device);
	STRUCTURE(24, nvmlDeviceGetConfComputeProtectedMemoryUsage, device);
	VERSIONED(0x01000040, nvmlDeviceGetPciInfoExt, device);
	NUMBER(unsigned int, nvmlDeviceGetMaxPcieLinkGeneration, device);
	NUMBER(unsigned int, nvmlDeviceGetGpuMaxPcieLinkGeneration, device);
	NUMBER(unsigned int, nvmlDeviceGetMaxPcieLinkWidth, device);
	NUMBER(unsigned int, nvmlDeviceGetCurrPcieLinkGeneration, device);
	NUMBER(unsigned int, nvmlDeviceGetCurrPcieLinkWidth, device);
	NUMBER(unsigned int, nvmlDeviceGetPcieLinkMaxSpeed, device);
	NUMBER(unsigned int, nvmlDeviceGetPcieSpeed, device);
	NUMBER(unsigned int, nvmlDeviceGetPcieThroughput, device, 1);
	NUMBER(unsigned int, nvmlDeviceGetPcieReplayCounter, device);
	NUMBER(unsigned int, nvmlDeviceGetBusType, device);
	NUMBER(unsigned int, nvmlDeviceGetIrqNum, device);
	STRUCTURE(24, nvmlDeviceGetBAR1MemoryInfo, device);
	STRUCTURE(1028, nvmlDeviceGetBridgeChipInfo, device);
	NUMBER(int, nvmlDeviceGetTopologyCommonAncestor, device, other);
	NUMBER(int, nvmlDeviceGetP2PStatus, device, other, 1);
	NUMBER(int, nvmlDeviceOnSameBoard, device, other);
	STRUCTURE(4, nvmlDeviceGetC2cModeInfoV, device);
	NUMBER(int, nvmlDeviceGetNvLinkState, device, 1);
	NUMBER(unsigned int, nvmlDeviceGetNvLinkVersion, device, 1);
	NUMBER(unsigned int, nvmlDeviceGetNvLinkCapability, device, 1, 2);
	STRUCTURE(68, nvmlDeviceGetNvLinkRemotePciInfo_v2, device, 1);
	NUMBER(int, nvmlDeviceGetNvLinkRemoteDeviceType, device, 1);
	NUMBER(unsigned long long, nvmlDeviceGetNvLinkErrorCounter, device, 1, 2);
	STRUCTURE(8, nvmlDeviceGetNvLinkUtilizationControl, device, 1, 2);
	NUMBERS(unsigned long long, nvmlDeviceGetNvLinkUtilizationCounter, device, 1, 2);
	VERSIONED(0x0100001c, nvmlDeviceGetNvlinkSupportedBwModes, device);
	VERSIONED(0x0100000c, nvmlDeviceGetNvlinkBwMode, device);
	VERSIONED(0x01000008, nvmlDeviceGetNvLinkInfo, device);
	VERSIONED(0x0200064c, nvmlDeviceGetNvLinkInfo, device);
	STRUCTURE(28, nvmlDeviceGetGpuFabricInfo, device);
	VERSIONED(0x02000024, nvmlDeviceGetGpuFabricInfoV, device);
	VERSIONED(0x03000028, nvmlDeviceGetGpuFabricInfoV, device);
	STRUCTURE(24, nvmlDeviceGetMemoryInfo, device);
	VERSIONED(0x02000028, nvmlDeviceGetMemoryInfo_v2, device);
	NUMBER(unsigned int, nvmlDeviceGetMemoryBusWidth, device);
	NUMBERS(int, nvmlDeviceGetEccMode, device);
	NUMBER(int, nvmlDeviceGetDefaultEccMode, device);
	NUMBER(unsigned long long, nvmlDeviceGetTotalEccErrors, device, 1, 2);
	STRUCTURE(32, nvmlDeviceGetDetailedEccErrors, device, 1, 2);
	NUMBER(unsigned long long, nvmlDeviceGetMemoryErrorCounter, device, 1, 2, 3);
	VERSIONED(0x01000068, nvmlDeviceGetSramEccErrorStatus, device);
	NUMBER(int, nvmlDeviceGetRetiredPagesPendingStatus, device);
	NUMBERS4(unsigned int, nvmlDeviceGetRemappedRows, device);
	STRUCTURE(20, nvmlDeviceGetRowRemapperHistogram, device);
	STRUCTURE(8, nvmlDeviceGetUtilizationRates, device);
	NUMBERS(unsigned int, nvmlDeviceGetEncoderUtilization, device);
	NUMBERS(unsigned int, nvmlDeviceGetDecoderUtilization, device);
	NUMBERS(unsigned int, nvmlDeviceGetJpgUtilization, device);
	NUMBERS(unsigned int, nvmlDeviceGetOfaUtilization, device);
	NUMBER(unsigned int, nvmlDeviceGetEncoderCapacity, device, 1);
	NUMBERS3(unsigned int, nvmlDeviceGetEncoderStats, device);
	STRUCTURE(12, nvmlDeviceGetFBCStats, device);
	STRUCTURE(16, nvmlDeviceGetViolationStatus, device, 1);
	NUMBER(unsigned int, nvmlDeviceGetPowerUsage, device);
	NUMBER(unsigned long long, nvmlDeviceGetTotalEnergyConsumption, device);
	NUMBER(int, nvmlDeviceGetPowerManagementMode, device);
	NUMBER(unsigned int, nvmlDeviceGetPowerManagementLimit, device);
	NUMBERS(unsigned int, nvmlDeviceGetPowerManagementLimitConstraints, device);
	NUMBER(unsigned int, nvmlDeviceGetPowerManagementDefaultLimit, device);
	NUMBER(unsigned int, nvmlDeviceGetEnforcedPowerLimit, device);
	NUMBER(unsigned int, nvmlDeviceGetPowerSource, device);
	NUMBER(int, nvmlDeviceGetPowerState, device);
	STRUCTURE(12, nvmlDeviceGetPowerMizerMode_v1, device);
	NUMBER(unsigned int, nvmlDeviceGetTemperature, device, 1);
	VERSIONED(0x0100000c, nvmlDeviceGetTemperatureV, device);
	NUMBER(unsigned int, nvmlDeviceGetTemperatureThreshold, device, 1);
	VERSIONED(0x01000008, nvmlDeviceGetMarginTemperature, device);
	STRUCTURE(64, nvmlDeviceGetThermalSettings, device, 1);
	NUMBER(unsigned int, nvmlDeviceGetNumFans, device);
	NUMBER(unsigned int, nvmlDeviceGetFanSpeed, device);
	NUMBER(unsigned int, nvmlDeviceGetFanSpeed_v2, device, 1);
	VERSIONED(0x0100000c, nvmlDeviceGetFanSpeedRPM, device);
	NUMBER(unsigned int, nvmlDeviceGetTargetFanSpeed, device, 1);
	NUMBERS(unsigned int, nvmlDeviceGetMinMaxFanSpeed, device);
	NUMBER(unsigned int, nvmlDeviceGetFanControlPolicy_v2, device, 1);
	VERSIONED(0x01000010, nvmlDeviceGetCoolerInfo, device);
	NUMBER(unsigned int, nvmlDeviceGetClockInfo, device, 1);
	NUMBER(unsigned int, nvmlDeviceGetMaxClockInfo, device, 1);
	NUMBER(unsigned int, nvmlDeviceGetClock, device, 1, 2);
	NUMBER(unsigned int, nvmlDeviceGetMaxCustomerBoostClock, device, 1);
	NUMBER(unsigned int, nvmlDeviceGetApplicationsClock, device, 1);
	NUMBER(unsigned int, nvmlDeviceGetDefaultApplicationsClock, device, 1);
	NUMBERS(int, nvmlDeviceGetAutoBoostedClocksEnabled, device);
	NUMBER(unsigned int, nvmlDeviceGetAdaptiveClockInfoStatus, device);
	NUMBER(int, nvmlDeviceGetPerformanceState, device);
	NUMBERS(unsigned int, nvmlDeviceGetMinMaxClockOfPState, device, 1, 2);
	NUMBER(int, nvmlDeviceGetGpcClkVfOffset, device);
	NUMBERS(int, nvmlDeviceGetGpcClkMinMaxVfOffset, device);
	NUMBER(int, nvmlDeviceGetMemClkVfOffset, device);
	NUMBERS(int, nvmlDeviceGetMemClkMinMaxVfOffset, device);
	VERSIONED(0x01000018, nvmlDeviceGetClockOffsets, device);
	VERSIONED(0x01000804, nvmlDeviceGetPerformanceModes, device);
	VERSIONED(0x01000804, nvmlDeviceGetCurrentClockFreqs, device);
	STRUCTURE(132, nvmlDeviceGetDynamicPstatesInfo, device);
	STRUCTURE(264, nvmlDeviceGetClkMonStatus, device);
	NUMBER(unsigned long long, nvmlDeviceGetCurrentClocksEventReasons, device);
	NUMBER(unsigned long long, nvmlDeviceGetSupportedClocksEventReasons, device);
	NUMBER(unsigned long long, nvmlDeviceGetCurrentClocksThrottleReasons, device);
	NUMBER(unsigned long long, nvmlDeviceGetSupportedClocksThrottleReasons, device);
	VERSIONED(0x01000064, nvmlDeviceWorkloadPowerProfileGetCurrentProfiles, device);
	NUMBER(int, nvmlDeviceGetPersistenceMode, device);
	NUMBER(int, nvmlDeviceGetComputeMode, device);
	NUMBERS(int, nvmlDeviceGetGpuOperationMode, device);
	NUMBER(int, nvmlDeviceGetAPIRestriction, device, 1);
	NUMBER(int, nvmlDeviceGetAccountingMode, device);
	NUMBER(unsigned int, nvmlDeviceGetAccountingBufferSize, device);
	NUMBERS(unsigned int, nvmlDeviceGetMigMode, device);
	NUMBER(unsigned int, nvmlDeviceGetMaxMigDeviceCount, device);
	NUMBER(unsigned int, nvmlDeviceIsMigDeviceHandle, device);
	NUMBER(unsigned int, nvmlDeviceGetGpuInstanceId, device);
	NUMBER(unsigned int, nvmlDeviceGetComputeInstanceId, device);
	STRUCTURE(48, nvmlDeviceGetGpuInstanceProfileInfo, device, 1);
	VERSIONED(0x02000098, nvmlDeviceGetGpuInstanceProfileInfoV, device, 1);
	VERSIONED(0x03000098, nvmlDeviceGetGpuInstanceProfileInfoV, device, 1);
	NUMBER(unsigned int, nvmlDeviceGetGpuInstanceRemainingCapacity, device, 1);
}

/* What is no device, or is not looked for. */
static void none(void)
{
	unsigned int number;
	void *device, *first;

	GIVES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetHandleByIndex_v2(99, &device));
	GIVES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetHandleByIndex_v2(0, NULL));
	GIVES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetPowerUsage(NULL, &number));
	GIVES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetPowerUsage(&number, &number));
	OK(nvmlDeviceGetHandleByIndex(0, &first));
	OK(nvmlDeviceGetHandleByIndex_v2(0, &device));
	IS(device == first);
}

int main(void)
{
	unsigned int count, again;
	void *devices[2];

	before_the_start();
	starts();
	errors();
	system_queries();
	OK(nvmlDeviceGetCount_v2(&count));
	OK(nvmlDeviceGetCount(&again));
	IS(count == 2 && again == 2);
	for (unsigned int i = 0; i < 2; i++) {
		OK(nvmlDeviceGetHandleByIndex_v2(i, &devices[i]));
		IS(index_of(devices[i]) == i);
	}
	none();
	for (unsigned int i = 0; i < 2; i++) {
		names(devices[i]);
		lists(devices[i]);
		fields(devices[i]);
		parts(devices[i]);
		queries(devices[i], devices[1 - i]);
	}
	OK(nvmlShutdown());
	GIVES(NVML_ERROR_UNINITIALIZED, nvmlDeviceGetCount_v2(&count));
	printf("%d failures\n", failures);
	return failures != 0;
}
