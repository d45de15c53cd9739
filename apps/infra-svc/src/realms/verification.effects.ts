import { ExternalFailure } from '@fairlead/contracts';
import { OnTask, type TaskOf } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject } from '@nestjs/common';
import { RealmLooks } from './looks.effects.js';
import { RealmFailure } from './realm.ports.js';
import { RegisteredRealms } from './realms.effects.js';

export type OfRealm = { readonly namespace: string; readonly realm: string; readonly registration: string };

/** Checks a realm as soon as it is registered. */
@Controller()
export class RealmEffects {
  constructor(
    @Inject(RegisteredRealms) private readonly realms: RegisteredRealms,
    @Inject(RealmLooks) private readonly looks: RealmLooks,
  ) {}

  /** Twelve attempts take about half an hour. After that, a cluster that needs the realm has it checked. */
  @OnTask('VerifyRealm', {
    attemptsMax: 12,
    backoffFirstMs: 2_000,
    backoffMaxMs: 300_000,
    timeoutMs: 60_000,
  })
  async verify({ data: { namespace, realm: name, registration }, cause }: TaskOf<OfRealm>): Promise<void> {
    const realm = await this.realms.one(namespace, name);
    if (realm?.registration !== registration) return;
    try {
      await this.looks.open(realm, cause);
    } catch (error) {
      if (!(error instanceof RealmFailure)) throw error;
      throw new ExternalFailure({ operation: 'verify realm', target: name, message: error.message });
    }
  }
}
