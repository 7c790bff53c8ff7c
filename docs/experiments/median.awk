# The number in the middle of a text of numbers.
function median(text,  all, count, i, j, kept) {
    count = split(text, all, " ")
    for (i = 2; i <= count; i++) {
        kept = all[i]
        for (j = i - 1; j > 0 && all[j] + 0 > kept + 0; j--)
            all[j + 1] = all[j]
        all[j + 1] = kept
    }
    return all[int((count + 1) / 2)]
}
