# How all charts look: load this first.  Each kind of key has one colour everywhere.

set terminal svg size 760,380 dynamic rounded font "sans-serif,13" background "white"
set border 3 linecolor rgb "#666666"
set tics nomirror out textcolor rgb "#333333"
set grid ytics linecolor rgb "#dddddd" linetype 1
set key outside top center horizontal reverse Left samplen 2 width 1
set style fill solid 1.0 noborder

sno       = "#0b6e4f"
apart     = "#9bbf3b"
named     = "#6fc59b"
bigint    = "#4472a8"
uuid_v4   = "#c0392b"
uuid_v7   = "#e08e45"
ulid      = "#8e5ea2"
snowflake = "#7f8c8d"
timestamp = "#c9a227"
