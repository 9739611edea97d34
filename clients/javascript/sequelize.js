'use strict'

const { DataTypes } = require('sequelize')

// DataTypes.ABSTRACT itself is a proxy that makes no objects of subclasses.
class SNO extends DataTypes.ABSTRACT.prototype.constructor {
  toSql() {
    return 'sno'
  }

  // With it Sequelize reads arrays, too.
  static parse(value) {
    return value
  }
}

SNO.key = SNO.prototype.key = 'SNO'
SNO.types = { postgres: ['sno'] }
DataTypes.postgres.SNO = SNO

exports.SNO = SNO
