import type { AbstractDataTypeConstructor } from 'sequelize'

/** The `type` of an attribute. `DataTypes.ARRAY(SNO)` is `sno[]`. */
export const SNO: AbstractDataTypeConstructor
