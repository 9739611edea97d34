# The charts of bench/feeds.  Given are style, the file with the style of all charts, and the figures
# there are: race and open are 1 or 0.  Each line of chart.tsv is a way: name, label, rows missed,
# ratio of commits, and p50 and p99 in the race and with three kinds of open transactions.

load style
set datafile separator "\t"
unset key
stats "chart.tsv" using 3 name "missed" nooutput
ways = missed_records
left = 0.245
set yrange [-0.6:ways - 0.4]
set grid noytics xtics
set border 1
set tmargin at screen 0.90
set bmargin at screen 0.14
array from[3]
array to[3]
do for [i = 1:3] {
    from[i] = left + (i - 1) * (0.985 - left) / 3
    to[i] = from[i] + (0.985 - left) / 3 - 0.035
}
colour(name) = rgb(name eq "sno" ? sno : name eq "last" ? uuid_v4 : bigint)
rgb(text) = int("0x".text[2:7])
open_chart(name) = sprintf('set terminal svg size 900,320 dynamic rounded noenhanced name "%s" ' \
    .'font "sans-serif,13" background "white"', name)
panel(i, title) = sprintf('set lmargin at screen %f; set rmargin at screen %f; set title "%s" offset 0, -0.5; %s', \
    from[i], to[i], title, i == 1 ? 'set ytics scale 0' : 'unset ytics')

# Latencies: a bar from p50 to p99, with the figures
latency(p) = sprintf('plot "chart.tsv" using %d:0:%d:(wide($%d, $%d)):($0 - 0.3):($0 + 0.3):(colour(strcol(1)))' \
    .':yticlabel(2) with boxxyerror linecolor rgb variable, ' \
    .'"" using (wide($%d, $%d)):($0):(ms(column(%d))."–".ms(column(%d))) ' \
    .'with labels left offset 0.5, 0 font ",11"', \
    p, p, p, p + 1, p, p + 1, p, p + 1)
# A bar that is too narrow would not be seen.
wide(p50, p99) = p99 > 1.2 * p50 ? p99 : 1.2 * p50
ms(v) = v >= 10 ? sprintf("%.0f", v) : sprintf("%.1f", v)
log_ms = 'set logscale x; set xrange [1:5e5]; ' \
    .'set xtics nomirror ("1 ms" 1, "10" 10, "100" 100, "1 s" 1000, "10 s" 10000)'

if (race) {
    eval open_chart("other_ways")
    set output "other-ways.svg"
    set multiplot
    eval panel(1, "rows missed")
    most = missed_max > 0 ? missed_max : 1
    set xrange [0:1.5 * most]
    unset xtics
    plot "chart.tsv" using (0):0:(0):3:($0 - 0.3):($0 + 0.3):yticlabel(2) with boxxyerror linecolor rgb uuid_v4, \
        "" using 3:0:(sprintf("%d", $3)) with labels left offset 0.5, 0 font ",11"
    eval panel(2, "commits, beside no reader")
    set xrange [0:1.45]
    plot "chart.tsv" using (0):0:(0):4:($0 - 0.3):($0 + 0.3):(colour(strcol(1))) \
            with boxxyerror linecolor rgb variable, \
        "" using 4:0:(sprintf("%.0f %%", 100 * $4)) with labels left offset 0.5, 0 font ",11"
    eval panel(3, "commit to reader, p50–p99, ms")
    eval log_ms
    eval latency(5)
    unset multiplot
}

if (open) {
    eval open_chart("open_transactions")
    set output "open-transactions.svg"
    set multiplot
    eval log_ms
    array kind[3] = ["open: it reads", "open: it writes another table", "open: it writes the outbox"]
    do for [i = 1:3] {
        eval panel(i, kind[i])
        eval latency(5 + 2 * i)
    }
    unset multiplot
}
