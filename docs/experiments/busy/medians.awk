# Two tables of a sweep as one: of each program the medians of both, and how much more the second is, for all of
# the simulated time and for what is not the kernels' own.
function more(one, other) {
    return sprintf("%.2f", 100 * (other - one) / one)
}
FNR == 1 {
    which++
    for (i = 1; i <= NF; i++)
        at[$i] = i
    next
}
$at["exit_code"] == 0 {
    name = $at["program"]
    if (!(name in known)) {
        known[name] = 1
        names[++count] = name
    }
    all_ns = $at["simulated_ns"]
    gpu_ns = $at["gpu_ns"]
    whole[which, name] = whole[which, name] " " all_ns
    gpu[which, name] = gpu[which, name] " " gpu_ns
    rest[which, name] = rest[which, name] " " (all_ns - gpu_ns)
}
END {
    print "program,quiet_ns,busy_ns,more_percent,quiet_gpu_ns,busy_gpu_ns,more_beside_gpu_percent"
    for (i = 1; i <= count; i++) {
        name = names[i]
        one = median(whole[1, name])
        other = median(whole[2, name])
        printf "%s,%.0f,%.0f,%s,", name, one, other, more(one, other)
        printf "%.0f,%.0f,", median(gpu[1, name]), median(gpu[2, name])
        print more(median(rest[1, name]), median(rest[2, name]))
    }
}
