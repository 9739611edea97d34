# The charts of the demonstration.  Given are style, the file with the style of all charts,
# and those figures that are numbers.

load style
set datafile separator "\t"
unset key
open(name, width, height) = sprintf('set terminal svg size %d,%d dynamic rounded name "%s" font "sans-serif,15"; set output "%s.svg"', width, height, name, name)

# Two charts show the time before the crash and the time after it, side by side and to one
# scale.  Between them, no ids could be issued.
stats "survivors.tsv" using ($1 == 1 ? $2 : NaN) prefix "after" nooutput
array from[2] = [window - 10, -10]
array to[2] = [50, after_max + 20]
array title[2] = ["ms after kill -9", "ms after the restart"]
edge = 0.15
between = 0.04
scale = (0.985 - edge - between) / (to[1] - from[1] + to[2] - from[2])
array left[2] = [edge, edge + scale * (to[1] - from[1]) + between]
array right[2] = [left[2] - between, 0.985]

# frame(I): the command that sets the frame of a part.  The second one has no y axis.
frame(i) = sprintf('set lmargin at screen %f; set rmargin at screen %f; set xrange [%f:%f]; set xlabel "%s"; %s', \
    left[i], right[i], from[i], to[i], title[i], \
    i == 1 ? "set border 3" : "set border 1; unset ylabel; unset label; unset arrow; set ytics scale 0; do for [y = bottom:top:tic] { set ytics add ('' y) }")

# Ids in each 4 ms.  Each lap has a colour: before the crash, after it, and after the clock
# was set back.
array lap[3] = ["until kill -9", "after the restart", "after the clock was set back"]
array colour[3] = [sno, named, ulid]
array partitions[3]
stats "partitions.tsv" using (partitions[$1 + 1] = strcol(2), 0) nooutput
eval open("survivors", 640, 440)
stats "survivors.tsv" using 3 prefix "count" nooutput
tic = count_max - count_min > 4000 ? 1000 : 500
top = tic * ceil(count_max / tic + 0.1)
bottom = tic * floor(count_min / tic - 0.1)
set multiplot
set tmargin at screen 0.80
set bmargin at screen 0.17
set yrange [bottom:top]
set xtics 100
set ytics ("" bottom)           # only those that are added
do for [y = bottom:top:tic] { set ytics add (sprintf("%d", abs(y)) y) }
set ylabel "ids in each 4 ms" offset 1
set xzeroaxis linetype 1 linecolor rgb "#333333"
set arrow from 0, graph 0 to 0, graph 1 nohead linecolor rgb "#222222" dashtype 2
do for [n = 1:3] {
    set label "■" at screen edge, 1.02 - 0.06 * n textcolor rgb colour[n]
    set label sprintf("%d  %s: %s %s", n, lap[n], strstrt(partitions[n], ",") ? "partitions" : "partition", partitions[n]) at screen edge + 0.03, 1.02 - 0.06 * n
}
do for [part = 0:1] {
    eval frame(part + 1)
    plot for [n = 1:3] "survivors.tsv" using (($1 == 1) == part && $1 == n - 1 ? $2 + 2 : NaN):3:($2):($2 + 4):(0):3 \
        with boxxyerror linecolor rgb colour[n]
}
unset multiplot
unset xzeroaxis
unset label

# The numbers of the sequence
eval open("numbers", 640, 400)
stats "numbers.tsv" using ($3 / 1000) prefix "number" nooutput
tic = number_max - number_min > 150 ? 50 : 20
bottom = tic * floor(number_min / tic)
top = tic * ceil(number_max / tic + 0.3)
set multiplot
set tmargin at screen 0.90
set bmargin at screen 0.19
set yrange [bottom:top]
unset ytics
set ytics ("" bottom) nomirror out textcolor rgb "#333333"
do for [y = bottom:top:tic] { set ytics add (sprintf("%d", y) y) }
set ylabel "number, in thousands" offset 1
set arrow from 0, graph 0 to 0, graph 1 nohead linecolor rgb "#222222" dashtype 2
set label "kill -9" at -6, graph 0.06 right
set label "highest number seen" at graph 0.015, first last_number / 1000.0 offset 0, 0.6
do for [again = 0:1] {
    set label "■" at screen edge + 0.3 * again, 0.95 textcolor rgb again ? uuid_v4 : bigint
    set label (again ? "noted twice" : "noted once") at screen edge + 0.03 + 0.3 * again, 0.95
}
do for [part = 0:1] {
    eval frame(part + 1)
    set arrow from graph 0, first last_number / 1000.0 to graph 1, first last_number / 1000.0 nohead linecolor rgb "#222222" dashtype 3
    plot for [again = 0:1] "numbers.tsv" using ($1 == part && $4 == again ? $2 : NaN):($3 / 1000) \
        with points pointtype 7 pointsize 0.3 linecolor rgb again ? uuid_v4 : bigint
}
unset multiplot
unset label
unset arrow

# A moment of the feed: a line of the file is a transaction.
eval open("feeds", 640, 400)
set lmargin at screen 0.1
set rmargin at screen 0.96
set tmargin at screen 0.92
set bmargin at screen 0.2
set border 1
set grid noytics
set xrange [0:moment]
set yrange [16.7:0.3]
set xtics 20
set xlabel "ms"
set ylabel "writer" offset 1
unset ytics
set ytics scale 0 1, 3 textcolor rgb "#333333"
do for [missed = 0:1] {
    set label "■" at graph 0.42 * missed, graph 1.045 textcolor rgb missed ? uuid_v4 : bigint
    set label (missed ? "never seen by it" : "seen by the reader by id") at graph 0.03 + 0.42 * missed, graph 1.045
}
# Short bars are drawn last, otherwise they would be hidden.
plot for [missed = 1:0:-1] "feeds.tsv" using ($4 == missed ? $2 : NaN):1:2:($3 > $2 + 0.8 ? $3 : $2 + 0.8):($1 - 0.34):($1 + 0.34) \
    with boxxyerror linecolor rgb missed ? uuid_v4 : bigint
unset label
set grid ytics

# The load
array kind[4] = [sno, bigint, uuid_v4, uuid_v7]
set lmargin
set rmargin
set tmargin 1.5
set bmargin 3.5
set border 3
set xrange [0.4:4.6]
unset xlabel
unset ytics
set ytics auto nomirror out textcolor rgb "#333333"
set xtics auto scale 0 font ",12"
set boxwidth 0.75

eval open("rates", 330, 330)
set offsets 0, 0, graph 0.08, 0
set yrange [0:*]
set ylabel "thousand rows a second"
plot for [k = 1:4] "load.tsv" every ::k-1::k-1 using (k):($3 / 1000):xticlabel(strcol(2)."\n".strcol(7)) with boxes linecolor rgb kind[k], \
    "" using ($0 + 1):($3 / 1000):(sprintf("%d", $3 / 1000)) with labels offset 0, 0.6

eval open("bytes", 470, 330)
set xrange [0.3:15.7]
set xtics ("table" 2.5, "index,\nloaded" 8, "index,\nREINDEXed" 13.5)
set ylabel "bytes a row"
set boxwidth 0.9
plot for [k = 1:4] for [column = 4:6] "load.tsv" every ::k-1::k-1 using (k + 5.5 * (column - 4)):column \
        with boxes linecolor rgb kind[k], \
    for [column = 4:6] "" using ($0 + 1 + 5.5 * (column - 4)):column:(sprintf("%.0f", column(column))) \
        with labels font ",12" offset 0, 0.5

# The month
eval open("month", 640, 300)
set offsets
set tmargin 2.5
set bmargin
set xrange [0.3:days + 0.7]
set yrange [0:*]
stats "month.tsv" using ($3 == 1 ? $1 : NaN):2 prefix "read" nooutput
unset xtics
set xtics 1, 2 nomirror scale 0 font ",13" textcolor rgb "#333333"
set xlabel "day of the month"
set ylabel "rows in its partition"
set boxwidth 0.8
set label sprintf("%d of %d read", days_read, days) at read_mean_x, graph 1.06 center textcolor rgb sno
set arrow from read_mean_x, graph 1 to read_mean_x, read_mean_y head filled size screen 0.015, 20 linecolor rgb sno
plot "month.tsv" using 1:2 with boxes linecolor rgb "#cfd6d3", \
    "" using 1:($3 == 1 ? $2 : NaN) with boxes linecolor rgb sno
