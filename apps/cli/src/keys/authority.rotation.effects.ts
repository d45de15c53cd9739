import { certificateIn, type Authorities } from '@fairlead/embedded';
import { nextAuthorityStep } from './authority.rotation.planner.js';

export interface AuthorityWorld {
  readAuthorities(): Authorities;
  /** Whole or not at all, with the bundle and the server's certificate that follow from them. */
  writeAuthorities(authorities: Authorities): Promise<void>;
  /** Gives services and NATS, where they have copies, the files that there are. */
  handOut(): void;
  /** Has NATS show the certificate that there is, and resolves when a client that trusts only the current authority reaches it. */
  reloadServer(current: string): Promise<void>;
  now(): Date;
}

export type AuthorityRotated =
  /** Call again at that time. */
  { readonly status: 'announced' | 'waiting'; readonly until: string } | { readonly status: 'complete' };

/**
 * Takes a rotation as far as it can go now. Ends at any moment, and the next call goes on: a client that trusts the bundle of any step
 * reaches the server of that step and of the next.
 */
export const rotateAuthority = async (
  world: AuthorityWorld,
  { made, agentsForMs }: { readonly made: string; readonly agentsForMs: number },
): Promise<AuthorityRotated> => {
  let announced = false;
  for (;;) {
    const authorities = world.readAuthorities();
    // A crash may have come between the file and what follows from it.
    await world.writeAuthorities(authorities);
    world.handOut();
    const times = { now: world.now(), agentsForMs };
    const step = nextAuthorityStep(authorities, times, { made, certificateOf: certificateIn });
    if (step.kind === 'wait') return { status: announced ? 'announced' : 'waiting', until: step.until };
    if (step.kind === 'finish') await world.reloadServer(certificateIn(authorities.current));
    await world.writeAuthorities(step.authorities);
    world.handOut();
    if (step.kind === 'finish') return { status: 'complete' };
    announced = true;
  }
};
