/** Nest injection tokens. Services inject by token, so that each constructor shows its dependencies. */
export const HANDLE = Symbol('fairlead.handle');
export const EVENT_STORE = Symbol('fairlead.event-store');
export const FOLLOW_UP_FAILURES = Symbol('fairlead.follow-up-failures');
export const PARTITIONS = Symbol('fairlead.partitions');
export const POSITIONS = Symbol('fairlead.positions');
export const TAIL = Symbol('fairlead.tail');
export const NATS = Symbol('fairlead.nats');
export const TASK_LEASES = Symbol('fairlead.task-leases');
