'use strict'

exports.sno = 'sno'

exports.registerSno = function registerSno(dataSource) {
  dataSource.driver.supportedDataTypes.push('sno')
}
