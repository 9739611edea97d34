# Ids without the database, compared with what the database says, names before ids, and the examples of both in
# clients/elixir/README.md

import Tap
alias Sno.Prefixes

hex = &Base.encode16(&1, case: :lower)

psql = fn sql ->
  File.write!("query.sql", sql)
  {rows, 0} = System.cmd("psql", ["-qXAtf", "query.sql"])
  rows |> String.split("\n", trim: true) |> Enum.map(&String.split(&1, "|"))
end

lines = vectors("sno.tsv")
ids = Enum.map(lines, fn [_, id | _] -> id end)
ok(length(ids) > 250, "sno.tsv", length(ids))

fields = fn id ->
  [Sno.tick_tock(id), Sno.meta(id), Sno.partition(id), Sno.sequence(id)]
  |> Enum.map(&to_string/1)
  |> then(&[hex.(Sno.to_bytes(id)), id, to_string(DateTime.to_unix(Sno.time(id), :millisecond)) | &1])
end

same(Enum.map(ids, fields), lines, "#{length(ids)} ids: text, bytes and fields")

back = fn id ->
  [
    Sno.from_uuid(Sno.to_uuid(id)),
    Sno.from_uuid(String.upcase(Sno.to_uuidv8(id))),
    Sno.from_bytes(Sno.to_bytes(id)),
    Sno.parse!(id)
  ]
end

same(Enum.map(ids, back), Enum.map(ids, &List.duplicate(&1, 4)), "uuids and bytes, and back")

rows = psql.("SELECT id, id::uuid, sno_to_uuidv8(id), sno_min(id::timestamptz), sno_max(id::timestamptz)
    FROM unnest('{#{Enum.join(ids, ",")}}'::sno[]) AS ids (id) ORDER BY ids.id")

row = fn id -> [id, Sno.to_uuid(id), Sno.to_uuidv8(id), Sno.min(Sno.time(id)), Sno.max(Sno.time(id))] end
same(Enum.map(Enum.sort(ids), row), rows, "order, uuids and bounds are those of the database")

times = ~w(1969-12-31T23:59:59.999Z 2009-12-31T23:59:59.999999Z 2010-01-01T00:00:00Z 2010-01-01T00:00:00.003999Z
  2010-01-01T00:00:00.004Z 2026-02-03T04:05:06.789123+09:00 2079-09-07T15:47:35.548Z 2079-09-07T15:47:35.551999Z
  2079-09-07T15:47:35.552Z 2200-01-01T00:00:00Z)
rows = psql.(Enum.map_join(times, &"SELECT sno_min('#{&1}'), sno_max('#{&1}');"))

bounds = fn time ->
  {:ok, at, _} = DateTime.from_iso8601(time)
  [Sno.min(at), Sno.max(at)]
end

same(Enum.map(times, bounds), rows, "bounds of times")

id = "brpk4q72xwf2m63l"
last = String.slice(id, 1..-1//1)

for wrong <- [
      "",
      String.upcase(id),
      id <> "2",
      last,
      id <> "\n",
      "1" <> last,
      "y" <> last,
      "é" <> String.slice(id, 2..-1//1),
      <<255::128>>,
      :brpk4q72xwf2m63l,
      nil,
      ~c"brpk4q72xwf2m63l",
      5,
      Sno.to_bytes(id)
    ] do
  refuses(fn -> Sno.parse!(wrong) end, "text #{inspect(wrong)}", ~r/^not an id: /)
  refuses(fn -> Sno.meta(wrong) end, "it has no field")
  ok(not Sno.valid?(wrong), "it is not valid")
end

for wrong <- ["", <<0::72>>, <<0::88>>, id, nil, <<0::79>>],
    do: refuses(fn -> Sno.from_bytes(wrong) end, "bytes #{inspect(wrong)}")

v8 = Sno.to_uuidv8(id)

for {place, name} <- [{14, "version"}, {19, "variant"}, {26, "zeros"}, {35, "last zeros"}] do
  wrong = String.slice(v8, 0, place) <> "1" <> String.slice(v8, (place + 1)..-1//1)
  refuses(fn -> Sno.from_uuid(wrong) end, "uuid with another #{name}", ~r/^not the uuid of an id: /)
end

for wrong <- ["00000000-0000-0000-0000-000000000000", String.replace(v8, "-", ""), v8 <> "\n", nil, 1] do
  refuses(fn -> Sno.from_uuid(wrong) end, "uuid #{inspect(wrong)}")
end

for [kind | text] <- vectors("mistakes.tsv") do
  text = Enum.join(text)
  advice = if kind == "none", do: ~r/[^)]\z/, else: ~r/#{kind}.*\)\z/
  refuses(fn -> Sno.parse!(text) end, "advice for #{inspect(text)}", advice)
end

cases = Enum.group_by(vectors("prefixes.tsv"), &hd/1, &tl/1)
names = Map.new(cases["prefix"], fn [meta, prefix] -> {String.to_integer(meta), prefix} end)
prefixes = Prefixes.new(names)

for [meta, prefix] <- cases["badprefix"] do
  refuses(
    fn -> Prefixes.new(Map.put(names, String.to_integer(meta), prefix)) end,
    "prefix #{inspect(prefix)} of #{meta}"
  )
end

for wrong <- ["user\n", :user, nil], do: refuses(fn -> Prefixes.new(%{2 => wrong}) end, "prefix #{inspect(wrong)}")

for [text, id] <- cases["id"] do
  same({Prefixes.read(prefixes, text), Prefixes.write(prefixes, id)}, {id, text}, "read and write #{text}")
end

bad = Enum.map(cases["badid"], &Enum.join/1) ++ ["user_brpk4q725cf2m63l\n", "user_\0rpk4q725cf2m63l", nil, 5]
for text <- bad, do: refuses(fn -> Prefixes.read(prefixes, text) end, "text #{inspect(text)}")
[[none]] = cases["noprefix"]
same(Prefixes.prefix(prefixes, none), nil, "a metabyte without a prefix")
refuses(fn -> Prefixes.write(prefixes, none) end, "so it can't be written")

same(Map.take(readme("ids", []), [:time, :meta]), %{time: ~U[2031-05-08 23:03:34.976Z], meta: 255}, "README, ids")
same(readme("prefixes", id: "9d5ve82226224222").again, "9d5ve82226224222", "README, names before ids")
done()
