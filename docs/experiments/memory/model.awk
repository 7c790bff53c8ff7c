# What the model says of a device of another memory bandwidth, from what cores.cu wrote on both: medians of the
# operations' time, and of the second device by the first's. A program whose data pass at more than MOST of
# the bandwidth on the first is bound by memory.
BEGIN {
    # Bytes of each operation, from the sizes in cores.cu; what is left out has few.
    mib = 1048576
    bytes["add"] = 48 * mib
    bytes["transpose"] = 32 * mib
    bytes["stencil"] = 32 * mib
    bytes["convolve"] = 32 * mib
    bytes["options"] = 32 * mib
    bytes["histogram"] = 16 * mib
    bytes["mandel"] = 16 * mib
    bytes["multiply"] = 12 * mib
}
FNR == 1 {
    device[++which] = $0
    next
}
{
    if (!($1 in known)) {
        known[$1] = 1
        names[++count] = $1
    }
    times[which, $1] = times[which, $1] " " $3
    operations[$1] = $4
}
END {
    print "program,first_us,second_us,part_of_bandwidth,model_us,error_percent"
    for (i = 1; i <= count; i++) {
        name = names[i]
        one = median(times[1, name])
        other = median(times[2, name])
        part = bytes[name] * operations[name] / one / FIRST
        model = one * (part > MOST ? FIRST / SECOND : 1)
        error = 100 * (model / other - 1)
        sum += error < 0 ? -error : error
        worst = (error < 0 ? -error : error) > worst ? (error < 0 ? -error : error) : worst
        printf "%s,%.1f,%.1f,%.2f,%.1f,%+.1f\n", name, one / 1000, other / 1000, part, model / 1000, error
    }
    printf "%s, then %s: mean error %.1f %%, worst %.1f %%\n", device[1], device[2], sum / count, worst >"/dev/stderr"
}
