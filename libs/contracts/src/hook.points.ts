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
] as const;
export type HookPoint = (typeof HOOK_POINTS)[number];
