# The checksum is that of the archive, when it is published: shasum -a 256.
class PostgresqlSno < Formula
  desc "Compact, time-sortable ids for PostgreSQL"
  homepage "https://sno.example/"
  url "https://sno.example/sno-1.0.0.zip"
  sha256 ""
  license "PostgreSQL"

  depends_on "postgresql@17" => [:build, :test]
  depends_on "postgresql@18" => [:build, :test]
  depends_on "libpq"
  depends_on "openssl@3"

  def postgresqls
    deps.map(&:to_formula).uniq.select { |f| f.name.start_with?("postgresql@") }
  end

  def install
    ENV.append "CPPFLAGS", "-I#{Formula["openssl@3"].opt_include}"
    ENV.append "LDFLAGS", "-L#{Formula["openssl@3"].opt_lib}"
    postgresqls.each do |postgresql|
      ENV["PG_CONFIG"] = postgresql.opt_bin/"pg_config"
      system "make", "clean"
      system "make", "install", "pkglibdir=#{lib/postgresql.name}", "datadir=#{share/postgresql.name}",
             "docdir=#{doc/postgresql.name}"
    end
  end

  test do
    ENV["LC_ALL"] = "C"
    postgresqls.each do |postgresql|
      data = testpath/postgresql.name
      port = free_port
      system postgresql.opt_bin/"initdb", "-D", data
      (data/"postgresql.conf").append_lines "port = #{port}"
      system postgresql.opt_bin/"pg_ctl", "start", "-w", "-D", data, "-l", testpath/"log"
      begin
        id = shell_output("#{postgresql.opt_bin}/psql -XAtq -p #{port} -d postgres " \
                          "-c 'CREATE EXTENSION sno' -c 'SELECT sno_generate()'")
        assert_match(/^[2-9a-x]{16}$/, id)
      ensure
        system postgresql.opt_bin/"pg_ctl", "stop", "-D", data
      end
    end
  end
end
