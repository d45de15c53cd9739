import type { QuarantineReleaseRequest } from '@fairlead/contracts';

/**
 * The modes of contracts, copied because loading its schemas would slow down the start of every command. The type keeps
 * both the same.
 */
export const QUARANTINE_RELEASE_MODES = Object.keys({ retry: 1, skip: 1, replay: 1 } satisfies Record<
  QuarantineReleaseRequest['mode'],
  1
>);
