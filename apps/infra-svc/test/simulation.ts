import type { Fact, StreamId } from '@fairlead/contracts';
import {
  CALM,
  Simulation as Services,
  type Life,
  type Parts,
  type Troubles,
} from '@fairlead/event-sourcing/simulation';
import type { TaskLeases } from '@fairlead/event-sourcing/jetstream';
import { seededRandom } from '@fairlead/testing';
import { RealmFailure } from '../src/realms/realm.ports.js';
import { FakeCloud, FakeProvider } from './fake.provider.js';
import { FakeRealm } from './fake.realm.js';
import { MemoryLog } from './memory.log.js';
import { infraParts, MemoryNames, MemorySecrets, reconcilers } from './memory.service.js';

const REPLICAS = 2;
const ATTEMPTS_MAX = 1_000;

export { CALM };
export const ROUGH: Troubles = { lostRequest: 0.05, lostAnswer: 0.05, crash: 0.01, twin: 0.2 };

/** Two replicas of infra-svc with one log, one cloud and one realm. */
export class Simulation extends Services {
  readonly cloud = new FakeCloud();
  readonly realm = new FakeRealm();
  readonly log = new MemoryLog();
  readonly secrets = new MemorySecrets();
  readonly names = new MemoryNames();
  private readonly rowsAreBehind: boolean;

  constructor(seed: number, troubles: Troubles = ROUGH) {
    super(seededRandom(seed), troubles);
    this.rowsAreBehind = this.chance(0.3);
    this.start({
      ...{ name: 'infra-svc', log: this.log, projections: [], reconcilers, replicas: REPLICAS },
      ...{ attemptsMax: ATTEMPTS_MAX, now: () => new Date() },
      start: (life, _program, leases) => this.partsOf(life, leases),
    });
  }

  async say(stream: StreamId, fact: Fact): Promise<void> {
    await this.log.say(stream, fact);
  }

  override run(stepsMax?: number): Promise<void> {
    this.fireTimers();
    return super.run(stepsMax);
  }

  private partsOf(life: Life, leases: TaskLeases): Parts {
    const { log, secrets, names, rowsAreBehind } = this;
    const ways = this.waysOf(life);
    const provider = new FakeProvider(this.cloud, ways);
    const realmCall = (operation: string): Promise<void> =>
      ways.before(operation).catch((error: unknown) => {
        throw life.dead ? error : new RealmFailure('RealmUnreachable', 'the request was lost');
      });
    const identityProviders = this.realm.provider({ before: realmCall, after: realmCall });
    const handle = this.decisions(life, log);
    const kinds = new Map([['lab', { name: 'lab', open: () => provider }]]);
    return infraParts({ log, secrets, names, rowsAreBehind, kinds, identityProviders, handle }, leases);
  }
}
