# Of each program the medians: natively, and simulated before and after calibration, with their errors; and of the
# simulated time after calibration what is neither the device's nor the driver's: the program's own instructions,
# which the guest's CPU executes, one in a nanosecond.
FNR == 1 {
    which++
    for (i = 1; i <= NF; i++)
        at[$i] = i
    next
}
which == 1 {
    if (!($at["program"] in native))
        names[++count] = $at["program"]
    native[$at["program"]] = native[$at["program"]] " " $at["ns"]
    next
}
$at["exit_code"] == 0 {
    name = (which == 3 ? "kernels " : "") $at["program"]
    how = $at["profile"] == "none" ? "before" : "after"
    simulated[name, how] = simulated[name, how] " " $at["simulated_ns"]
    own[name, how] = own[name, how] " " ($at["simulated_ns"] - $at["gpu_ns"] - $at["target_cpu_ns"])
}
function error(ns, measured_ns) {
    return sprintf("%+.1f", 100 * (ns - measured_ns) / measured_ns)
}
END {
    print "program,native_ns,before_ns,before_error_percent,after_ns,after_error_percent,own_ns"
    for (i = 1; i <= count; i++) {
        name = names[i]
        measured = median(native[name])
        before = median(simulated[name, "before"])
        after = median(simulated[name, "after"])
        printf "%s,%.0f,%.0f,%s,", name, measured, before, error(before, measured)
        printf "%.0f,%s,%.0f\n", after, error(after, measured), median(own[name, "after"])
    }
}
