defmodule Sno.Prefixes do
  @moduledoc """
  Names of metabytes, which stand before ids: `user_9d5ve82226224222`, as `sno_prefixed()` writes it.

  All functions raise `ArgumentError` for a wrong prefix or id.
  """

  @opaque t :: %__MODULE__{names: %{byte => String.t()}}
  @enforce_keys [:names]
  defstruct @enforce_keys

  @doc "Takes the prefixes of metabytes, such as `%{1 => \"user\"}`.  No two metabytes have the same prefix."
  @spec new(%{byte => String.t()}) :: t
  def new(names) do
    for {meta, prefix} <- names do
      meta in 0..255 || raise ArgumentError, "not a metabyte: #{inspect(meta)}"

      (is_binary(prefix) and byte_size(prefix) < 64 and prefix =~ ~r/\A[a-z]([a-z0-9_]*[a-z0-9])?\z/) ||
        raise ArgumentError, "not a prefix: #{inspect(prefix)}"
    end

    Enum.uniq(Map.values(names)) == Map.values(names) || raise ArgumentError, "a prefix belongs to one metabyte"
    %__MODULE__{names: names}
  end

  @doc "Returns the prefix of the id's metabyte, as `sno_prefix()` does, or nil."
  @spec prefix(t, Sno.t()) :: String.t() | nil
  def prefix(prefixes, id), do: prefixes.names[Sno.meta(id)]

  @doc "Returns the prefix, an underscore, and the id, as `sno_prefixed()` does."
  @spec write(t, Sno.t()) :: String.t()
  def write(prefixes, id) do
    prefix = prefix(prefixes, id) || raise ArgumentError, "metabyte #{Sno.meta(id)} has no prefix"
    "#{prefix}_#{id}"
  end

  @doc "Returns the id of such a text, as `sno_from_prefixed()` does."
  @spec read(t, String.t()) :: Sno.t()
  def read(prefixes, text) when is_binary(text) do
    [_, prefix, id] = Regex.run(~r/\A(?:(.*)_)?([^_]*)\z/s, text)
    prefix(prefixes, Sno.parse!(id)) == prefix || raise ArgumentError, "wrong prefix of an id: #{inspect(text)}"
    id
  end

  def read(_, other), do: Sno.parse!(other)
end
