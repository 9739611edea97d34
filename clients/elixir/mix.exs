defmodule Sno.MixProject do
  use Mix.Project

  def project do
    [
      app: :sno,
      version: "0.9.0",
      elixir: "~> 1.14",
      description: "Ids of the PostgreSQL extension sno",
      homepage_url: "https://sno.example/",
      package: [licenses: ["PostgreSQL"], links: %{}]
    ]
  end
end
