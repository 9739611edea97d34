defmodule Sno do
  @moduledoc """
  Ids of the PostgreSQL extension sno.  An id is a string of 16 characters, so `<` and `Enum.sort/1`
  order ids as the database does, and an id can be the key of a map.

  All functions raise `ArgumentError` for a value that is not an id.
  """

  @typedoc "The text of an id."
  @type t :: <<_::128>>

  @digits "23456789abcdefghijklmnopqrstuvwx"
  @epoch 1_262_304_000_000_000
  @unit 4000
  @last_unit Bitwise.bsl(1, 39) - 1

  uuid = "[0-9A-Fa-f]{4}(-?[0-9A-Fa-f]{4}){7}"

  # Texts that are given as ids by mistake, and advice for them
  @mistakes [
    {~S"\A-?[0-9]+\z", "it is a number"},
    {~S"\A(" <> uuid <> ~S"|\{" <> uuid <> ~S"\})\z", "from_uuid converts a uuid"},
    {~S"\A(?s:.+)[_-][2-9a-x]{16}\z", "Sno.Prefixes.read converts an id with a prefix"},
    {~S"\A[2-9A-Xa-x]{16}\z", "ids are in lower case"},
    {~S"\A[0-9]{4}-[0-9]{2}-[0-9]{2}", "min and max convert a time"}
  ]

  @doc "Returns whether the value is the text of an id."
  @spec valid?(term) :: boolean
  def valid?(text), do: is_binary(text) and text =~ ~r/\A[2-9a-x]{16}\z/

  @doc "Returns the text if it is an id."
  @spec parse!(String.t()) :: t
  def parse!(text) do
    if valid?(text), do: text, else: raise(ArgumentError, "not an id: #{inspect(text)}#{advice(text)}")
  end

  defp advice(text) do
    mistake = is_binary(text) && Enum.find(@mistakes, fn {pattern, _} -> text =~ Regex.compile!(pattern) end)
    if mistake, do: " (#{elem(mistake, 1)})", else: ""
  end

  @doc "Returns the 10 bytes of an id."
  @spec to_bytes(t) :: <<_::80>>
  def to_bytes(id), do: for(<<character <- parse!(id)>>, into: <<>>, do: <<digit(character)::5>>)

  defp digit(character) when character in ?2..?9, do: character - ?2
  defp digit(character), do: character - ?a + 8

  @doc "Returns the id that has these 10 bytes."
  @spec from_bytes(<<_::80>>) :: t
  def from_bytes(<<_::binary-size(10)>> = bytes) do
    for <<digit::5 <- bytes>>, into: "", do: <<:binary.at(@digits, digit)>>
  end

  def from_bytes(other), do: raise(ArgumentError, "an id has 10 bytes, unlike #{inspect(other)}")

  @doc "Returns the uuid whose bytes are the 16 characters, as `id::uuid` in SQL."
  @spec to_uuid(t) :: String.t()
  def to_uuid(id), do: hyphenated(parse!(id))

  @doc "Returns a uuid of version 8 that begins with the id, as `sno_to_uuidv8(id)` in SQL."
  @spec to_uuidv8(t) :: String.t()
  def to_uuidv8(id) do
    <<head::48, next::12, tail::20>> = to_bytes(id)
    hyphenated(<<head::48, 8::4, next::12, 2::2, tail::20, 0::42>>)
  end

  defp hyphenated(bytes) do
    <<a::binary-8, b::binary-4, c::binary-4, d::binary-4, e::binary-12>> = Base.encode16(bytes, case: :lower)
    Enum.join([a, b, c, d, e], "-")
  end

  @doc "Returns the id of a uuid that `to_uuid/1` or `to_uuidv8/1` returned."
  @spec from_uuid(String.t()) :: t
  def from_uuid(uuid) do
    hex = is_binary(uuid) && uuid =~ ~r/\A[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\z/i && String.replace(uuid, "-", "")
    id = hex && of_uuid(Base.decode16!(hex, case: :mixed))
    if valid?(id), do: id, else: raise(ArgumentError, "not the uuid of an id: #{inspect(uuid)}")
  end

  defp of_uuid(<<head::48, 8::4, next::12, 2::2, tail::20, 0::42>>), do: from_bytes(<<head::48, next::12, tail::20>>)
  defp of_uuid(bytes), do: bytes

  @doc "Returns the time of an id in UTC: the start of its 4 ms."
  @spec time(t) :: DateTime.t()
  def time(id) do
    <<unit::39, _::41>> = to_bytes(id)
    DateTime.from_unix!(div(@epoch + unit * @unit, 1000), :millisecond)
  end

  @doc "Returns the bit that changes when the clock is set back."
  @spec tick_tock(t) :: 0..1
  def tick_tock(id) do
    <<_::39, bit::1, _::40>> = to_bytes(id)
    bit
  end

  @doc "Returns the metabyte."
  @spec meta(t) :: byte
  def meta(id) do
    <<_::40, meta, _::32>> = to_bytes(id)
    meta
  end

  @doc "Returns the partition in which the id was generated."
  @spec partition(t) :: 0..65_535
  def partition(id) do
    <<_::48, partition::16, _::16>> = to_bytes(id)
    partition
  end

  @doc "Returns the number of the id within its partition and its 4 ms."
  @spec sequence(t) :: 0..65_535
  def sequence(id) do
    <<_::64, sequence::16>> = to_bytes(id)
    sequence
  end

  @doc """
  Returns the lowest id of the 4 ms that contain the time.  As in the database, a time out of range
  gives the lowest or the highest of all ids.
  """
  @spec min(DateTime.t()) :: t
  def min(at), do: bound(at, 0)

  @doc "Returns the highest id of the 4 ms that contain the time.  A time out of range gives the same id as in `min/1`."
  @spec max(DateTime.t()) :: t
  def max(at), do: bound(at, -1)

  defp bound(at, rest) do
    case Integer.floor_div(DateTime.to_unix(at, :microsecond) - @epoch, @unit) do
      unit when unit < 0 -> from_bytes(<<0::80>>)
      unit when unit > @last_unit -> from_bytes(<<-1::80>>)
      unit -> from_bytes(<<unit::39, rest::41>>)
    end
  end
end
