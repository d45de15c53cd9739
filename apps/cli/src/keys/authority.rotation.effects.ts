import { certificateIn, type Authorities } from '@fairlead/embedded';
import { nextAuthorityStep } from './authority.rotation.planner.js';

export interface AuthorityWorld {
  readAuthorities(): Authorities;
  /** Atomically writes the authorities, the bundle and the server's certificate. */
  writeAuthorities(authorities: Authorities): Promise<void>;
  /** Copies the current files to services and NATS, if they have copies. */
  handOut(): void;
  /** Reloads NATS, and resolves when a client that trusts only the current authority can connect. */
  reloadServer(current: string): Promise<void>;
  now(): Date;
}

export type AuthorityRotated =
  /** Call again at that time. */
  { readonly status: 'announced' | 'waiting'; readonly until: string } | { readonly status: 'complete' };

/**
 * Continues a rotation as far as currently possible. Can be interrupted at any time, and the next call continues: a
 * client that trusts the bundle of any step can connect to the server of that step and of the next one.
 */
export const rotateAuthority = async (
  world: AuthorityWorld,
  { made, agentsForMs }: { readonly made: string; readonly agentsForMs: number },
): Promise<AuthorityRotated> => {
  let announced = false;
  for (;;) {
    const authorities = world.readAuthorities();
    // An earlier call may have crashed between these writes.
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
