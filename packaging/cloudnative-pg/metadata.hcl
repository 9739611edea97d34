# For the repository of CloudNativePG's extension images.  There, images are made of PGDG's packages: until PGDG has
# sno, the versions below name none.
metadata = {
  name                     = "sno"
  sql_name                 = "sno"
  image_name               = "sno"
  licenses                 = ["PostgreSQL"]
  shared_preload_libraries = []
  postgresql_parameters    = {}
  extension_control_path   = []
  dynamic_library_path     = []
  ld_library_path          = []
  bin_path                 = []
  env                      = {}
  auto_update_os_libs      = false
  required_extensions      = []
  create_extension         = true

  versions = {
    trixie = {
      "18" = {
        // renovate: suite=trixie-pgdg depName=postgresql-18-sno
        package = "1.0.0-1.pgdg13+1"
        sql     = "1.0"
      }
    }
  }
}
