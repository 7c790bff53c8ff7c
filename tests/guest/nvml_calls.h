/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What tests use of NVML, declared here: NVIDIA's header is not needed. Devices and structures
 * are addresses. */
#ifndef NVML_CALLS_H
#define NVML_CALLS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int nvmlInit_v2(void);
int nvmlInit(void);
int nvmlInitWithFlags(unsigned int flags);
int nvmlShutdown(void);
const char *nvmlErrorString(int result);
int nvmlSystemGetDriverVersion(char *version, unsigned int length);
int nvmlSystemGetNVMLVersion(char *version, unsigned int length);
int nvmlSystemGetCudaDriverVersion(int *cudaDriverVersion);
int nvmlSystemGetCudaDriverVersion_v2(int *cudaDriverVersion);
int nvmlSystemGetDriverBranch(void *branchInfo, unsigned int length);
int nvmlSystemGetNvlinkBwMode(unsigned int *nvlinkBwMode);
int nvmlSystemGetConfComputeCapabilities(void *capabilities);
int nvmlSystemGetConfComputeState(void *state);
int nvmlSystemGetConfComputeGpusReadyState(unsigned int *isAcceptingWork);
int nvmlSystemGetConfComputeSettings(void *settings);
int nvmlUnitGetCount(unsigned int *unitCount);
int nvmlGetExcludedDeviceCount(unsigned int *deviceCount);
int nvmlGetExcludedDeviceInfoByIndex(unsigned int index, void *info);
int nvmlDeviceGetCount_v2(unsigned int *deviceCount);
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device);
int nvmlDeviceGetHandleBySerial(const char *serial, void **device);
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device);
int nvmlDeviceGetHandleByPciBusId_v2(const char *pciBusId, void **device);
int nvmlDeviceGetName(void *device, char *name, unsigned int length);
int nvmlDeviceGetBrand(void *device, int *type);
int nvmlDeviceGetIndex(void *device, unsigned int *index);
int nvmlDeviceGetSerial(void *device, char *serial, unsigned int length);
int nvmlDeviceGetModuleId(void *device, unsigned int *moduleId);
int nvmlDeviceGetUUID(void *device, char *uuid, unsigned int length);
int nvmlDeviceGetMinorNumber(void *device, unsigned int *minorNumber);
int nvmlDeviceGetBoardId(void *device, unsigned int *boardId);
int nvmlDeviceGetMultiGpuBoard(void *device, unsigned int *multiGpuBool);
int nvmlDeviceGetBoardPartNumber(void *device, char *partNumber, unsigned int length);
int nvmlDeviceGetVbiosVersion(void *device, char *version, unsigned int length);
int nvmlDeviceGetInforomVersion(void *device, int object, char *version, unsigned int length);
int nvmlDeviceGetInforomImageVersion(void *device, char *version, unsigned int length);
int nvmlDeviceGetInforomConfigurationChecksum(void *device, unsigned int *checksum);
int nvmlDeviceValidateInforom(void *device);
int nvmlDeviceGetGspFirmwareVersion(void *device, char *version);
int nvmlDeviceGetGspFirmwareMode(void *device, unsigned int *isEnabled, unsigned int *defaultMode);
int nvmlDeviceGetArchitecture(void *device, unsigned int *arch);
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor);
int nvmlDeviceGetNumGpuCores(void *device, unsigned int *numCores);
int nvmlDeviceGetAttributes_v2(void *device, void *attributes);
int nvmlDeviceGetCapabilities(void *device, void *caps);
int nvmlDeviceGetPdi(void *device, void *pdi);
int nvmlDeviceGetAddressingMode(void *device, void *mode);
int nvmlDeviceGetRepairStatus(void *device, void *repairStatus);
int nvmlDeviceGetDisplayMode(void *device, int *display);
int nvmlDeviceGetDisplayActive(void *device, int *isActive);
int nvmlDeviceGetDriverModel_v2(void *device, int *current, int *pending);
int nvmlDeviceGetVirtualizationMode(void *device, int *pVirtualMode);
int nvmlDeviceGetHostVgpuMode(void *device, int *pHostVgpuMode);
int nvmlDeviceGetConfComputeMemSizeInfo(void *device, void *memInfo);
int nvmlDeviceGetConfComputeProtectedMemoryUsage(void *device, void *memory);
int nvmlDeviceGetPciInfo_v3(void *device, void *pci);
int nvmlDeviceGetPciInfoExt(void *device, void *pci);
int nvmlDeviceGetMaxPcieLinkGeneration(void *device, unsigned int *maxLinkGen);
int nvmlDeviceGetGpuMaxPcieLinkGeneration(void *device, unsigned int *maxLinkGenDevice);
int nvmlDeviceGetMaxPcieLinkWidth(void *device, unsigned int *maxLinkWidth);
int nvmlDeviceGetCurrPcieLinkGeneration(void *device, unsigned int *currLinkGen);
int nvmlDeviceGetCurrPcieLinkWidth(void *device, unsigned int *currLinkWidth);
int nvmlDeviceGetPcieLinkMaxSpeed(void *device, unsigned int *maxSpeed);
int nvmlDeviceGetPcieSpeed(void *device, unsigned int *pcieSpeed);
int nvmlDeviceGetPcieThroughput(void *device, int counter, unsigned int *value);
int nvmlDeviceGetPcieReplayCounter(void *device, unsigned int *value);
int nvmlDeviceGetBusType(void *device, unsigned int *type);
int nvmlDeviceGetIrqNum(void *device, unsigned int *irqNum);
int nvmlDeviceGetBAR1MemoryInfo(void *device, void *bar1Memory);
int nvmlDeviceGetBridgeChipInfo(void *device, void *bridgeHierarchy);
int nvmlDeviceQueryDrainState(void *pciInfo, int *currentState);
int nvmlDeviceGetTopologyCommonAncestor(void *device1, void *device2, int *pathInfo);
int nvmlDeviceGetP2PStatus(void *device1, void *device2, int p2pIndex, int *p2pStatus);
int nvmlDeviceOnSameBoard(void *device1, void *device2, int *onSameBoard);
int nvmlDeviceGetC2cModeInfoV(void *device, void *c2cModeInfo);
int nvmlDeviceGetNvLinkState(void *device, unsigned int link, int *isActive);
int nvmlDeviceGetNvLinkVersion(void *device, unsigned int link, unsigned int *version);
int nvmlDeviceGetNvLinkCapability(void *device, unsigned int link, int capability, unsigned int *capResult);
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned int link, void *pci);
int nvmlDeviceGetNvLinkRemoteDeviceType(void *device, unsigned int link, int *pNvLinkDeviceType);
int nvmlDeviceGetNvLinkErrorCounter(void *device, unsigned int link, int counter, unsigned long long *counterValue);
int nvmlDeviceGetNvLinkUtilizationControl(void *device, unsigned int link, unsigned int counter, void *control);
int nvmlDeviceGetNvLinkUtilizationCounter(void *device, unsigned int link, unsigned int counter, unsigned long long *rxcounter, unsigned long long *txcounter);
int nvmlDeviceGetNvlinkSupportedBwModes(void *device, void *supportedBwMode);
int nvmlDeviceGetNvlinkBwMode(void *device, void *getBwMode);
int nvmlDeviceGetNvLinkInfo(void *device, void *info);
int nvmlDeviceGetGpuFabricInfo(void *device, void *gpuFabricInfo);
int nvmlDeviceGetGpuFabricInfoV(void *device, void *gpuFabricInfo);
int nvmlDeviceGetMemoryInfo(void *device, void *memory);
int nvmlDeviceGetMemoryInfo_v2(void *device, void *memory);
int nvmlDeviceGetMemoryBusWidth(void *device, unsigned int *busWidth);
int nvmlDeviceGetEccMode(void *device, int *current, int *pending);
int nvmlDeviceGetDefaultEccMode(void *device, int *defaultMode);
int nvmlDeviceGetTotalEccErrors(void *device, int errorType, int counterType, unsigned long long *eccCounts);
int nvmlDeviceGetDetailedEccErrors(void *device, int errorType, int counterType, void *eccCounts);
int nvmlDeviceGetMemoryErrorCounter(void *device, int errorType, int counterType, int locationType, unsigned long long *count);
int nvmlDeviceGetSramEccErrorStatus(void *device, void *status);
int nvmlDeviceGetRetiredPagesPendingStatus(void *device, int *isPending);
int nvmlDeviceGetRemappedRows(void *device, unsigned int *corrRows, unsigned int *uncRows, unsigned int *isPending, unsigned int *failureOccurred);
int nvmlDeviceGetRowRemapperHistogram(void *device, void *values);
int nvmlDeviceGetDramEncryptionMode(void *device, void *current, void *pending);
int nvmlDeviceGetUtilizationRates(void *device, void *utilization);
int nvmlDeviceGetEncoderUtilization(void *device, unsigned int *utilization, unsigned int *samplingPeriodUs);
int nvmlDeviceGetDecoderUtilization(void *device, unsigned int *utilization, unsigned int *samplingPeriodUs);
int nvmlDeviceGetJpgUtilization(void *device, unsigned int *utilization, unsigned int *samplingPeriodUs);
int nvmlDeviceGetOfaUtilization(void *device, unsigned int *utilization, unsigned int *samplingPeriodUs);
int nvmlDeviceGetEncoderCapacity(void *device, int encoderQueryType, unsigned int *encoderCapacity);
int nvmlDeviceGetEncoderStats(void *device, unsigned int *sessionCount, unsigned int *averageFps, unsigned int *averageLatency);
int nvmlDeviceGetFBCStats(void *device, void *fbcStats);
int nvmlDeviceGetViolationStatus(void *device, int perfPolicyType, void *violTime);
int nvmlDeviceGetFieldValues(void *device, int valuesCount, void *values);
int nvmlDeviceGetPowerUsage(void *device, unsigned int *power);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *energy);
int nvmlDeviceGetPowerManagementMode(void *device, int *mode);
int nvmlDeviceGetPowerManagementLimit(void *device, unsigned int *limit);
int nvmlDeviceGetPowerManagementLimitConstraints(void *device, unsigned int *minLimit, unsigned int *maxLimit);
int nvmlDeviceGetPowerManagementDefaultLimit(void *device, unsigned int *defaultLimit);
int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned int *limit);
int nvmlDeviceGetPowerSource(void *device, unsigned int *powerSource);
int nvmlDeviceGetPowerState(void *device, int *pState);
int nvmlDeviceGetPowerMizerMode_v1(void *device, void *powerMizerMode);
int nvmlDeviceGetTemperature(void *device, int sensorType, unsigned int *temp);
int nvmlDeviceGetTemperatureV(void *device, void *temperature);
int nvmlDeviceGetTemperatureThreshold(void *device, int thresholdType, unsigned int *temp);
int nvmlDeviceGetMarginTemperature(void *device, void *marginTempInfo);
int nvmlDeviceGetThermalSettings(void *device, unsigned int sensorIndex, void *pThermalSettings);
int nvmlDeviceGetNumFans(void *device, unsigned int *numFans);
int nvmlDeviceGetFanSpeed(void *device, unsigned int *speed);
int nvmlDeviceGetFanSpeed_v2(void *device, unsigned int fan, unsigned int *speed);
int nvmlDeviceGetFanSpeedRPM(void *device, void *fanSpeed);
int nvmlDeviceGetTargetFanSpeed(void *device, unsigned int fan, unsigned int *targetSpeed);
int nvmlDeviceGetMinMaxFanSpeed(void *device, unsigned int *minSpeed, unsigned int *maxSpeed);
int nvmlDeviceGetFanControlPolicy_v2(void *device, unsigned int fan, unsigned int *policy);
int nvmlDeviceGetCoolerInfo(void *device, void *coolerInfo);
int nvmlDeviceGetClockInfo(void *device, int type, unsigned int *clock);
int nvmlDeviceGetMaxClockInfo(void *device, int type, unsigned int *clock);
int nvmlDeviceGetClock(void *device, int clockType, int clockId, unsigned int *clockMHz);
int nvmlDeviceGetMaxCustomerBoostClock(void *device, int clockType, unsigned int *clockMHz);
int nvmlDeviceGetApplicationsClock(void *device, int clockType, unsigned int *clockMHz);
int nvmlDeviceGetDefaultApplicationsClock(void *device, int clockType, unsigned int *clockMHz);
int nvmlDeviceGetAutoBoostedClocksEnabled(void *device, int *isEnabled, int *defaultIsEnabled);
int nvmlDeviceGetAdaptiveClockInfoStatus(void *device, unsigned int *adaptiveClockStatus);
int nvmlDeviceGetPerformanceState(void *device, int *pState);
int nvmlDeviceGetSupportedPerformanceStates(void *device, int *pstates, unsigned int size);
int nvmlDeviceGetMinMaxClockOfPState(void *device, int type, int pstate, unsigned int *minClockMHz, unsigned int *maxClockMHz);
int nvmlDeviceGetGpcClkVfOffset(void *device, int *offset);
int nvmlDeviceGetGpcClkMinMaxVfOffset(void *device, int *minOffset, int *maxOffset);
int nvmlDeviceGetMemClkVfOffset(void *device, int *offset);
int nvmlDeviceGetMemClkMinMaxVfOffset(void *device, int *minOffset, int *maxOffset);
int nvmlDeviceGetClockOffsets(void *device, void *info);
int nvmlDeviceGetPerformanceModes(void *device, void *perfModes);
int nvmlDeviceGetCurrentClockFreqs(void *device, void *currentClockFreqs);
int nvmlDeviceGetDynamicPstatesInfo(void *device, void *pDynamicPstatesInfo);
int nvmlDeviceGetClkMonStatus(void *device, void *status);
int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *clocksEventReasons);
int nvmlDeviceGetSupportedClocksEventReasons(void *device, unsigned long long *supportedClocksEventReasons);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *clocksThrottleReasons);
int nvmlDeviceGetSupportedClocksThrottleReasons(void *device, unsigned long long *supportedClocksThrottleReasons);
int nvmlDeviceWorkloadPowerProfileGetCurrentProfiles(void *device, void *currentProfiles);
int nvmlDeviceGetPersistenceMode(void *device, int *mode);
int nvmlDeviceGetComputeMode(void *device, int *mode);
int nvmlDeviceGetGpuOperationMode(void *device, int *current, int *pending);
int nvmlDeviceGetAPIRestriction(void *device, int apiType, int *isRestricted);
int nvmlDeviceGetAccountingMode(void *device, int *mode);
int nvmlDeviceGetAccountingBufferSize(void *device, unsigned int *bufferSize);
int nvmlDeviceGetMigMode(void *device, unsigned int *currentMode, unsigned int *pendingMode);
int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned int *count);
int nvmlDeviceIsMigDeviceHandle(void *device, unsigned int *isMigDevice);
int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned int index, void **migDevice);
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *migDevice, void **device);
int nvmlDeviceGetGpuInstanceId(void *device, unsigned int *id);
int nvmlDeviceGetComputeInstanceId(void *device, unsigned int *id);
int nvmlDeviceGetGpuInstanceProfileInfo(void *device, unsigned int profile, void *info);
int nvmlDeviceGetGpuInstanceProfileInfoV(void *device, unsigned int profile, void *info);
int nvmlDeviceGetGpuInstanceRemainingCapacity(void *device, unsigned int profileId, unsigned int *count);
int nvmlDeviceGetSupportedMemoryClocks(void *device, unsigned int *count, unsigned int *clocksMHz);
int nvmlDeviceGetSupportedGraphicsClocks(void *device, unsigned int memoryClockMHz, unsigned int *count, unsigned int *clocksMHz);
int nvmlDeviceGetRetiredPages(void *device, int cause, unsigned int *pageCount, unsigned long long *addresses);
int nvmlDeviceGetRetiredPages_v2(void *device, int cause, unsigned int *pageCount, unsigned long long *addresses, unsigned long long *timestamps);
int nvmlDeviceGetTopologyNearestGpus(void *device, int level, unsigned int *count, void **deviceArray);
int nvmlDeviceGetSamples(void *device, int type, unsigned long long lastSeenTimeStamp, int *sampleValType, unsigned int *sampleCount, void *samples);
int nvmlDeviceGetCount(unsigned int *deviceCount);
int nvmlDeviceGetHandleByIndex(unsigned int index, void **device);
int nvmlDeviceGetHandleByPciBusId(const char *pciBusId, void **device);
int nvmlDeviceGetAttributes(void *device, void *attributes);
int nvmlDeviceSetPersistenceMode(void *device, int mode);
int nvmlDeviceSetComputeMode(void *device, int mode);
int nvmlDeviceSetEccMode(void *device, int ecc);
int nvmlDeviceClearEccErrorCounts(void *device, int counterType);
int nvmlDeviceSetDriverModel(void *device, int driverModel, unsigned int flags);
int nvmlDeviceSetGpuLockedClocks(void *device, unsigned int minGpuClockMHz, unsigned int maxGpuClockMHz);
int nvmlDeviceResetGpuLockedClocks(void *device);
int nvmlDeviceSetMemoryLockedClocks(void *device, unsigned int minMemClockMHz, unsigned int maxMemClockMHz);
int nvmlDeviceResetMemoryLockedClocks(void *device);
int nvmlDeviceSetApplicationsClocks(void *device, unsigned int memClockMHz, unsigned int graphicsClockMHz);
int nvmlDeviceResetApplicationsClocks(void *device);
int nvmlDeviceSetAutoBoostedClocksEnabled(void *device, int enabled);
int nvmlDeviceSetDefaultAutoBoostedClocksEnabled(void *device, int enabled, unsigned int flags);
int nvmlDeviceSetDefaultFanSpeed_v2(void *device, unsigned int fan);
int nvmlDeviceSetFanControlPolicy(void *device, unsigned int fan, unsigned int policy);
int nvmlDeviceSetFanSpeed_v2(void *device, unsigned int fan, unsigned int speed);
int nvmlDeviceSetTemperatureThreshold(void *device, int thresholdType, int *temp);
int nvmlDeviceSetPowerManagementLimit(void *device, unsigned int limit);
int nvmlDeviceSetPowerManagementLimit_v2(void *device, void *powerValue);
int nvmlDeviceSetGpuOperationMode(void *device, int mode);
int nvmlDeviceSetAPIRestriction(void *device, int apiType, int isRestricted);
int nvmlDeviceSetGpcClkVfOffset(void *device, int offset);
int nvmlDeviceSetMemClkVfOffset(void *device, int offset);
int nvmlDeviceSetClockOffsets(void *device, void *info);
int nvmlDeviceSetAccountingMode(void *device, int mode);
int nvmlDeviceClearAccountingPids(void *device);
int nvmlDeviceSetMigMode(void *device, unsigned int mode, int *activationStatus);
int nvmlDeviceCreateGpuInstance(void *device, unsigned int profileId, void **gpuInstance);
int nvmlDeviceResetNvLinkErrorCounters(void *device, unsigned int link);
int nvmlDeviceSetNvLinkUtilizationControl(void *device, unsigned int link, unsigned int counter, void *control, unsigned int reset);
int nvmlDeviceFreezeNvLinkUtilizationCounter(void *device, unsigned int link, unsigned int counter, int freeze);
int nvmlDeviceResetNvLinkUtilizationCounter(void *device, unsigned int link, unsigned int counter);
int nvmlSystemSetNvlinkBwMode(unsigned int nvlinkBwMode);
int nvmlDeviceSetNvlinkBwMode(void *device, void *setBwMode);
int nvmlDeviceSetVirtualizationMode(void *device, int virtualMode);
int nvmlDeviceModifyDrainState(void *pciInfo, int newState);
int nvmlDeviceRemoveGpu_v2(void *pciInfo, int gpuState, int linkState);
int nvmlDeviceDiscoverGpus(void *pciInfo);
int nvmlDeviceClearFieldValues(void *device, int valuesCount, void *values);
int nvmlDeviceSetDramEncryptionMode(void *device, void *dramEncryption);
int nvmlDeviceSetPowerMizerMode_v1(void *device, void *powerMizerMode);
int nvmlDeviceSetConfComputeUnprotectedMemSize(void *device, unsigned long long sizeKiB);
int nvmlSystemSetConfComputeGpusReadyState(unsigned int isAcceptingWork);
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned int *infoCount, void *infos);
int nvmlDeviceGetComputeRunningProcesses_v2(void *device, unsigned int *infoCount, void *infos);
int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned int *infoCount, void *infos);
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *device, unsigned int *infoCount, void *infos);
int nvmlDeviceGetGraphicsRunningProcesses_v2(void *device, unsigned int *infoCount, void *infos);
int nvmlDeviceGetGraphicsRunningProcesses(void *device, unsigned int *infoCount, void *infos);
int nvmlDeviceGetMPSComputeRunningProcesses_v3(void *device, unsigned int *infoCount, void *infos);
int nvmlDeviceGetMPSComputeRunningProcesses_v2(void *device, unsigned int *infoCount, void *infos);
int nvmlDeviceGetMPSComputeRunningProcesses(void *device, unsigned int *infoCount, void *infos);
int nvmlDeviceGetRunningProcessDetailList(void *device, void *plist);
int nvmlDeviceGetProcessUtilization(void *device, void *utilization, unsigned int *processSamplesCount, unsigned long long lastSeenTimeStamp);
int nvmlDeviceGetProcessesUtilizationInfo(void *device, void *procesesUtilInfo);
int nvmlDeviceGetAccountingStats(void *device, unsigned int pid, void *stats);
int nvmlDeviceGetAccountingPids(void *device, unsigned int *count, unsigned int *pids);
int nvmlDeviceGetEncoderSessions(void *device, unsigned int *sessionCount, void *sessionInfos);
int nvmlDeviceGetFBCSessions(void *device, unsigned int *sessionCount, void *sessionInfo);
int nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length);
int nvmlDeviceGetHostname_v1(void *device, void *hostname);
int nvmlDeviceGetCpuAffinity(void *device, unsigned int cpuSetSize, unsigned long *cpuSet);
int nvmlDeviceGetCpuAffinityWithinScope(void *device, unsigned int cpuSetSize, unsigned long *cpuSet, unsigned int scope);
int nvmlDeviceGetMemoryAffinity(void *device, unsigned int nodeSetSize, unsigned long *nodeSet, unsigned int scope);
int nvmlDeviceSetCpuAffinity(void *device);
int nvmlDeviceClearCpuAffinity(void *device);
int nvmlDeviceGetNumaNodeId(void *device, unsigned int *node);
int nvmlSystemGetTopologyGpuSet(unsigned int cpuNumber, unsigned int *count, void **deviceArray);
int nvmlEventSetCreate(void **set);
int nvmlDeviceRegisterEvents(void *device, unsigned long long eventTypes, void *set);
int nvmlDeviceGetSupportedEventTypes(void *device, unsigned long long *eventTypes);
int nvmlEventSetWait_v2(void *set, void *data, unsigned int timeoutms);
int nvmlEventSetFree(void *set);
int nvmlGpmSampleAlloc(void **gpmSample);
int nvmlGpmQueryDeviceSupport(void *device, void *gpmSupport);
int nvmlDeviceGetActiveVgpus(void *device, unsigned int *vgpuCount, unsigned int *vgpuInstances);
int nvmlDeviceGetSupportedVgpus(void *device, unsigned int *vgpuCount, unsigned int *vgpuTypeIds);
int nvmlDeviceGetCreatableVgpus(void *device, unsigned int *vgpuCount, unsigned int *vgpuTypeIds);

enum {
	NVML_SUCCESS = 0,
	NVML_ERROR_UNINITIALIZED = 1,
	NVML_ERROR_INVALID_ARGUMENT = 2,
	NVML_ERROR_NOT_SUPPORTED = 3,
	NVML_ERROR_NO_PERMISSION = 4,
	NVML_ERROR_NOT_FOUND = 6,
	NVML_ERROR_INSUFFICIENT_SIZE = 7,
	NVML_ERROR_DRIVER_NOT_LOADED = 9,
	NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
};

static int failures;

#define GIVES(wanted, call)                                                                        \
	do {                                                                                       \
		int gives_ = (call);                                                               \
		if (gives_ == (wanted)) {                                                          \
			printf("ok %s\n", #call);                                                  \
		} else {                                                                           \
			printf("not ok %d: %s gives %d\n", __LINE__, #call, gives_);               \
			failures++;                                                                \
		}                                                                                  \
	} while (0)
#define OK(call) GIVES(NVML_SUCCESS, call)
#define IS(condition) GIVES(1, (condition) ? 1 : 0)

#endif
