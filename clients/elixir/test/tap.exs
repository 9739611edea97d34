# Functions that the tests share.

defmodule Tap do
  def start, do: Agent.start_link(fn -> {0, 0} end, name: __MODULE__)

  def ok(passed, name, seen \\ nil) do
    number =
      Agent.get_and_update(__MODULE__, fn {n, failed} -> {n + 1, {n + 1, failed + if(passed, do: 0, else: 1)}} end)

    IO.puts("#{if passed, do: "ok", else: "not ok"} #{number} - #{String.replace(name, "\n", "\\n")}")
    unless passed, do: IO.puts(String.replace("# " <> inspect(seen, pretty: true), "\n", "\n# "))
  end

  def same(seen, wanted, name), do: ok(seen === wanted, name, {seen, :wanted, wanted})

  # Raises ArgumentError, whose message matches.
  def refuses(call, name, message \\ ~r/./) do
    seen = call.()
    ok(false, name, seen)
  rescue
    error in ArgumentError -> ok(error.message =~ message, name, error.message)
  end

  # The lines of a file of test/vectors, without comments, cut at tabs
  def vectors(name) do
    File.read!(Path.join(System.fetch_env!("CLIENTS"), "../test/vectors/#{name}"))
    |> String.split("\n", trim: true)
    |> Enum.reject(&String.starts_with?(&1, "#"))
    |> Enum.map(&String.split(&1, "\t"))
  end

  # The bindings after the block of README.md that begins with ```elixir NAME
  def readme(name, bindings) do
    text = File.read!(Path.join(System.fetch_env!("CLIENTS"), "elixir/README.md"))
    [_, code] = Regex.run(~r/^```elixir #{name}\n(.*?)^```$/ms, text)
    {_, bindings} = Code.eval_string(code, bindings)
    Map.new(bindings)
  end

  def done do
    {tests, failed} = Agent.get(__MODULE__, & &1)
    IO.puts("1..#{tests}")
    System.halt(if failed > 0, do: 1, else: 0)
  end
end

Tap.start()
