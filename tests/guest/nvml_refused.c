/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a guest may not do to a board's device, and may not know of the board: refused here, after
 * what NVML looks at first. The board's library has none of these functions. */
#include "nvml_calls.h"

/* Before the start, for what is no device, and for a device. */
#define REFUSED(code, call, ...)                                                                   \
	do {                                                                                       \
		device = NULL;                                                                     \
		GIVES(started ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_UNINITIALIZED,            \
		      call(__VA_ARGS__));                                                          \
		device = real;                                                                     \
		GIVES(started ? (code) : NVML_ERROR_UNINITIALIZED, call(__VA_ARGS__));             \
	} while (0)
#define FORBIDDEN(call, ...) REFUSED(NVML_ERROR_NO_PERMISSION, call, __VA_ARGS__)
#define UNSUPPORTED(call, ...) REFUSED(NVML_ERROR_NOT_SUPPORTED, call, __VA_ARGS__)

static void *real, *device;
static int started;

/* What would change it. */
static void changes(void)
{
	FORBIDDEN(nvmlDeviceSetPersistenceMode, device, 0);
	FORBIDDEN(nvmlDeviceSetComputeMode, device, 0);
	FORBIDDEN(nvmlDeviceSetEccMode, device, 0);
	FORBIDDEN(nvmlDeviceClearEccErrorCounts, device, 0);
	FORBIDDEN(nvmlDeviceSetDriverModel, device, 0, 0);
	FORBIDDEN(nvmlDeviceSetGpuLockedClocks, device, 0, 0);
	FORBIDDEN(nvmlDeviceResetGpuLockedClocks, device);
	FORBIDDEN(nvmlDeviceSetMemoryLockedClocks, device, 0, 0);
	FORBIDDEN(nvmlDeviceResetMemoryLockedClocks, device);
	FORBIDDEN(nvmlDeviceSetApplicationsClocks, device, 0, 0);
	FORBIDDEN(nvmlDeviceResetApplicationsClocks, device);
	FORBIDDEN(nvmlDeviceSetAutoBoostedClocksEnabled, device, 0);
	FORBIDDEN(nvmlDeviceSetDefaultAutoBoostedClocksEnabled, device, 0, 0);
	FORBIDDEN(nvmlDeviceSetDefaultFanSpeed_v2, device, 0);
	FORBIDDEN(nvmlDeviceSetFanControlPolicy, device, 0, 0);
	FORBIDDEN(nvmlDeviceSetFanSpeed_v2, device, 0, 0);
	FORBIDDEN(nvmlDeviceSetTemperatureThreshold, device, 0, NULL);
	FORBIDDEN(nvmlDeviceSetPowerManagementLimit, device, 0);
	FORBIDDEN(nvmlDeviceSetPowerManagementLimit_v2, device, NULL);
	FORBIDDEN(nvmlDeviceSetGpuOperationMode, device, 0);
	FORBIDDEN(nvmlDeviceSetAPIRestriction, device, 0, 0);
	FORBIDDEN(nvmlDeviceSetGpcClkVfOffset, device, 0);
	FORBIDDEN(nvmlDeviceSetMemClkVfOffset, device, 0);
	FORBIDDEN(nvmlDeviceSetClockOffsets, device, NULL);
	FORBIDDEN(nvmlDeviceSetAccountingMode, device, 0);
	FORBIDDEN(nvmlDeviceClearAccountingPids, device);
	FORBIDDEN(nvmlDeviceSetMigMode, device, 0, NULL);
	FORBIDDEN(nvmlDeviceCreateGpuInstance, device, 0, NULL);
	FORBIDDEN(nvmlDeviceResetNvLinkErrorCounters, device, 0);
	FORBIDDEN(nvmlDeviceSetNvLinkUtilizationControl, device, 0, 0, NULL, 0);
	FORBIDDEN(nvmlDeviceFreezeNvLinkUtilizationCounter, device, 0, 0, 0);
	FORBIDDEN(nvmlDeviceResetNvLinkUtilizationCounter, device, 0, 0);
	FORBIDDEN(nvmlDeviceSetNvlinkBwMode, device, NULL);
	FORBIDDEN(nvmlDeviceSetVirtualizationMode, device, 0);
	FORBIDDEN(nvmlDeviceClearFieldValues, device, 0, NULL);
	FORBIDDEN(nvmlDeviceSetDramEncryptionMode, device, NULL);
	FORBIDDEN(nvmlDeviceSetPowerMizerMode_v1, device, NULL);
	FORBIDDEN(nvmlDeviceSetConfComputeUnprotectedMemSize, device, 0);
}

/* What would change the machine. */
static void changes_of_the_machine(void)
{
	int code = started ? NVML_ERROR_NO_PERMISSION : NVML_ERROR_UNINITIALIZED;

	GIVES(code, nvmlSystemSetNvlinkBwMode(0));
	GIVES(code, nvmlDeviceModifyDrainState(NULL, 0));
	GIVES(code, nvmlDeviceRemoveGpu_v2(NULL, 0, 0));
	GIVES(code, nvmlDeviceDiscoverGpus(NULL));
	GIVES(code, nvmlSystemSetConfComputeGpusReadyState(0));
}

/* What is about other processes and the board's processors, and what waits. */
static void other_things(void)
{
	int code = started ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_UNINITIALIZED;
	int none = started ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_UNINITIALIZED;

	UNSUPPORTED(nvmlDeviceGetComputeRunningProcesses_v3, device, NULL, NULL);
	UNSUPPORTED(nvmlDeviceGetComputeRunningProcesses_v2, device, NULL, NULL);
	UNSUPPORTED(nvmlDeviceGetComputeRunningProcesses, device, NULL, NULL);
	UNSUPPORTED(nvmlDeviceGetGraphicsRunningProcesses_v3, device, NULL, NULL);
	UNSUPPORTED(nvmlDeviceGetGraphicsRunningProcesses_v2, device, NULL, NULL);
	UNSUPPORTED(nvmlDeviceGetGraphicsRunningProcesses, device, NULL, NULL);
	UNSUPPORTED(nvmlDeviceGetMPSComputeRunningProcesses_v3, device, NULL, NULL);
	UNSUPPORTED(nvmlDeviceGetMPSComputeRunningProcesses_v2, device, NULL, NULL);
	UNSUPPORTED(nvmlDeviceGetMPSComputeRunningProcesses, device, NULL, NULL);
	UNSUPPORTED(nvmlDeviceGetRunningProcessDetailList, device, NULL);
	UNSUPPORTED(nvmlDeviceGetProcessUtilization, device, NULL, NULL, 0);
	UNSUPPORTED(nvmlDeviceGetProcessesUtilizationInfo, device, NULL);
	UNSUPPORTED(nvmlDeviceGetAccountingStats, device, 0, NULL);
	UNSUPPORTED(nvmlDeviceGetAccountingPids, device, NULL, NULL);
	UNSUPPORTED(nvmlDeviceGetEncoderSessions, device, NULL, NULL);
	UNSUPPORTED(nvmlDeviceGetFBCSessions, device, NULL, NULL);
	GIVES(code, nvmlSystemGetProcessName(0, NULL, 0));
	UNSUPPORTED(nvmlDeviceGetHostname_v1, device, NULL);
	UNSUPPORTED(nvmlDeviceGetCpuAffinity, device, 0, NULL);
	UNSUPPORTED(nvmlDeviceGetCpuAffinityWithinScope, device, 0, NULL, 0);
	UNSUPPORTED(nvmlDeviceGetMemoryAffinity, device, 0, NULL, 0);
	UNSUPPORTED(nvmlDeviceSetCpuAffinity, device);
	UNSUPPORTED(nvmlDeviceClearCpuAffinity, device);
	UNSUPPORTED(nvmlDeviceGetNumaNodeId, device, NULL);
	GIVES(code, nvmlSystemGetTopologyGpuSet(0, NULL, NULL));
	GIVES(code, nvmlEventSetCreate(NULL));
	device = real;
	GIVES(none, nvmlDeviceRegisterEvents(device, 0, NULL));
	UNSUPPORTED(nvmlDeviceGetSupportedEventTypes, device, NULL);
	GIVES(none, nvmlEventSetWait_v2(NULL, NULL, 0));
	GIVES(none, nvmlEventSetFree(NULL));
	GIVES(code, nvmlGpmSampleAlloc(NULL));
	UNSUPPORTED(nvmlGpmQueryDeviceSupport, device, NULL);
	UNSUPPORTED(nvmlDeviceGetActiveVgpus, device, NULL, NULL);
	UNSUPPORTED(nvmlDeviceGetSupportedVgpus, device, NULL, NULL);
	UNSUPPORTED(nvmlDeviceGetCreatableVgpus, device, NULL, NULL);
}

int main(void)
{
	changes();
	changes_of_the_machine();
	other_things();
	OK(nvmlInit_v2());
	started = 1;
	OK(nvmlDeviceGetHandleByIndex_v2(1, &real));
	changes();
	changes_of_the_machine();
	other_things();
	OK(nvmlShutdown());
	started = 0;
	changes();
	printf("%d failures\n", failures);
	return failures != 0;
}
