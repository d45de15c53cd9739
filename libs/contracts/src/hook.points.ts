/** Where hooks are called, in the order in which a cluster passes the points. */
export const HOOK_POINTS = [
  'BeforeCreate',
  'BeforeControlPlaneInitialized',
  'AfterControlPlaneInitialized',
  'AfterCreate',
  'BeforeUpgrade',
  'AfterUpgrade',
  'BeforeNodeDrain',
  'AfterNodeDrain',
  'BeforeNodeDelete',
  'AfterNodeDelete',
  'BeforeClusterDelete',
  'AfterClusterDelete',
] as const;
export type HookPoint = (typeof HOOK_POINTS)[number];

/** Whether something waits for the hooks of the point. After the deletion it is the end of the record: no hook could be asked later. */
export const holdsStep = (point: HookPoint): boolean => point.startsWith('Before') || point === 'AfterClusterDelete';
