/** Points at which hooks are called, in the order in which a cluster reaches them. */
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

/**
 * Whether a step waits for the hooks of the point. `AfterClusterDelete` delays the end of the record: hooks cannot be
 * called later.
 */
export const holdsStep = (point: HookPoint): boolean => point.startsWith('Before') || point === 'AfterClusterDelete';
