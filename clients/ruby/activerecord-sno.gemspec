Gem::Specification.new do |spec|
  spec.name = "activerecord-sno"
  spec.version = "0.9.0"
  spec.summary = "PostgreSQL's type sno for ActiveRecord"
  spec.description = "Ids of the PostgreSQL extension sno: a class that reads them, and the type " \
                     "for ActiveRecord, its migrations and schema.rb."
  spec.authors = ["sno maintainers"]
  spec.email = ["maintainers@sno.example"]
  spec.homepage = "https://sno.example/"
  spec.license = "PostgreSQL"
  spec.files = Dir.chdir(__dir__) { Dir["lib/**/*.rb", "README.md"] }
  spec.required_ruby_version = ">= 3.0"
  spec.add_dependency "activerecord", ">= 6.1"
  spec.add_dependency "pg", ">= 1.1"
end
