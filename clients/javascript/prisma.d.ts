/**
 * Lets Prisma read arrays of ids: the option `userDefinedTypeParser` of the adapter. It leaves
 * all other values as they are.
 */
export function parseSno(oid: number, value: unknown): Promise<unknown>
