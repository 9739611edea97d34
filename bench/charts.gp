# The charts of bench/run: from its .tsv files, into the folder that it names.

load style
set datafile separator tab
chart(name) = folder.name.".svg"
keys = "sno named bigint uuid_v4 uuid_v7 ulid snowflake timestamp"
few = "sno apart bigint uuid_v7"

# Column c, if the line is of key k
of(k, c) = strcol(1) eq k ? column(c) : NaN
label(k) = system("awk -F'\t' '$1 == \"".k."\" { print $2; exit }' call.tsv sessions.tsv")

# Bars: a line of the file is a bar, the first one on top.
set border 1
set grid noytics xtics
set ytics scale 0
set yrange [7.6:-0.6]
unset key

set output chart("call")
set title "Time of one call in ns (logarithmic)"
set rmargin 8
set logscale x
plot for [k in keys] "call.tsv" using (of(k, 3)):0:(10):3:($0 - 0.36):($0 + 0.36):ytic(2) \
        with boxxyerror linecolor rgb value(k), \
    "" using 3:0:(sprintf("%.0f", $3)) with labels left offset 0.6, 0
unset logscale

set output chart("load")
set multiplot layout 1, 2 margins 0.23, 0.94, 0.1, 0.87 spacing 0.08, 0
set xrange [0:*]
set title "Time of a load, bigint = 1"
plot for [k in keys] "load.tsv" using (of(k, 3)):0:(0):3:($0 - 0.36):($0 + 0.36):ytic(2) \
        with boxxyerror linecolor rgb value(k), \
    "" using 3:0:(sprintf("%.2f", $3)) with labels left offset 0.4, 0
set title "Bytes a row: table, and index (lighter)"
plot for [k in keys] "load.tsv" using (of(k, 4)):0:(0):4:($0 - 0.36):($0 + 0.36):ytic("") \
        with boxxyerror linecolor rgb value(k), \
    for [k in keys] "" using (of(k, 4) + $5):0:4:($4 + $5):($0 - 0.36):($0 + 0.36) \
        with boxxyerror linecolor rgb value(k) fillstyle solid 0.45, \
    "" using ($4 + $5):0:(sprintf("%.0f", $4 + $5)) with labels left offset 0.4, 0
unset multiplot

# Lines, in two plots with one legend
set border 3
set grid ytics noxtics
set ytics scale 1
set yrange [0:*]
set style data linespoints
set pointsize 0.7
# Those of sno are wide, so that they show under others with the same values.
width(k) = k eq "sno" ? 6 : k eq "named" ? 4 : 2

set output chart("sessions")
set multiplot layout 1, 2 margins 0.08, 0.71, 0.17, 0.87 spacing 0.07, 0
set key at screen 0.73, 0.87 left top vertical
set logscale x 2
set xrange [0.9:72]
set xtics (1, 2, 4, 8, 64)
set xlabel "sessions that load at once"
set title "Thousand rows a second"
plot for [k in few] "sessions.tsv" using 3:(of(k, 4) / 1e3) linewidth width(k) pointtype 7 linecolor rgb value(k) title label(k)
set title "Bytes of index a row"
plot for [k in few] "sessions.tsv" using 3:(of(k, 5)) linewidth width(k) pointtype 7 linecolor rgb value(k) notitle
unset multiplot

set output chart("rows")
set multiplot layout 1, 2 margins 0.08, 0.71, 0.17, 0.87 spacing 0.07, 0
set logscale x 10
set xrange [*:*] noextend
set xtics (1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9)
set format x "10^{%L}"
set xlabel "rows that are loaded"
set title "µs a row (logarithmic)"
set logscale y
set yrange [*:*]
plot for [k in keys] "rows.tsv" using 3:(1e6 / of(k, 4)) linewidth width(k) pointtype 7 linecolor rgb value(k) title label(k)
set title "Bytes of index a row"
unset logscale y
set yrange [0:*]
plot for [k in keys] "rows.tsv" using 3:(of(k, 5)) linewidth width(k) pointtype 7 linecolor rgb value(k) notitle
unset multiplot

# Points
set terminal svg size 760, 640
set output chart("ratios")
set title "Time or bytes, bigint = 1 (logarithmic): left is better"
unset xlabel
set key at screen 0.65, 0.985 center top horizontal
set logscale x 2
set xrange [*:*] extend
set format x "%g"
set yrange [20.6:0.4]
set ytics scale 0
set grid xtics ytics
set rmargin 3
set tmargin 4
set bmargin 3
set pointsize 0.8
set arrow from 1, graph 0 to 1, graph 1 nohead linewidth 2 linecolor rgb bigint back
shown = "sno uuid_v4 uuid_v7"
plot "ratios.tsv" using (1):3:ytic(4) with dots linecolor rgb bigint notitle, \
    for [i = 1:3] ""  using (of(word(shown, i), 5)):($3 + (i - 2) * 0.22) \
        with points pointtype 7 linecolor rgb value(word(shown, i)) title label(word(shown, i))
