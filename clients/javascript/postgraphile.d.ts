import type {} from 'postgraphile'

/** A plugin of PostGraphile 5, to which an id is a `String`. */
export const SnoPlugin: GraphileConfig.Plugin
