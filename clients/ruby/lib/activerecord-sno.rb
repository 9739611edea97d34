# frozen_string_literal: true

require "active_support"
require "active_support/lazy_load_hooks"
require "sno"

ActiveSupport.on_load(:active_record) { require "sno/active_record" }
