'use strict'

exports.SnoPlugin = {
  name: 'SnoPlugin',
  version: '0.9.0',
  gather: {
    hooks: {
      async pgCodecs_findPgCodec({ helpers, lib }, event) {
        const { pgCodec, pgType, serviceName } = event
        const extension = await helpers.pgIntrospection.getExtensionByName(serviceName, 'sno')
        if (pgCodec || pgType.typname !== 'sno' || pgType.typnamespace !== extension?.extnamespace) return
        event.pgCodec = {
          ...lib.dataplanPg.TYPES.text,
          name: 'sno',
          sqlType: helpers.pgBasics.identifier(pgType.getNamespace().nspname, 'sno'),
          extensions: { oid: pgType._id },
        }
      },
    },
  },
  schema: {
    hooks: {
      init(_, build) {
        for (const codec of build.allPgCodecs) {
          if (codec.name === 'sno') build.setGraphQLTypeForPgCodec(codec, ['input', 'output'], 'String')
        }
        return _
      },
    },
  },
}
