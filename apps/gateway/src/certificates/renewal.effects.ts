import { isRefusal, UpgradeStrategy, type UpgradeId, type UpgradePhase } from '@fairlead/contracts';
import {
  HANDLE,
  OnTask,
  POSITIONS,
  type Decided,
  type Handle,
  type Positions,
  type RequeueAfter,
  type TaskOf,
} from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { upgrades, type RequestUpgrade, type UpgradesState } from '../upgrades/upgrades.decider.js';
import { CertificateQueries } from './certificates.queries.js';
import type { RenewCertificates } from './renewal.reconciler.js';
import { RenewalSchedule } from './renewal.schedule.js';

const ROWS_WITHIN_MS = 10_000;
const ROWS_AGAIN_MS = 5_000;
const BUSY_AGAIN_MS = 60_000;
/** How long an upgrade that was asked for is given before it is looked at again. */
const LOOK_AGAIN_MS = 24 * 3_600_000;
/** One a day, until the certificates have ended. */
const ATTEMPTS_MAX = 90;

/** One attempt after the other under names of their own, the same for every delivery of the task. */
const idOf = ({ uid, earliest }: RenewCertificates, attempt: number): UpgradeId =>
  `u-${createHash('sha256').update(`renewal/${uid}/${earliest}/${attempt}`).digest('hex').slice(0, 10)}` as UpgradeId;

/** One season of warnings, so that what someone has given up is known on every control plane, and forgotten a year later. */
const hashOf = ({ uid, earliest }: RenewCertificates): string =>
  createHash('sha256')
    .update(`renewal/${uid}/${earliest.slice(0, 'YYYY'.length)}`)
    .digest('hex');

const phaseOf = ({ latest, over }: UpgradesState, id: UpgradeId): UpgradePhase | undefined =>
  latest?.id === id ? latest.phase : over.get(id);

/** F: certificates that end soon are renewed by a rollout without a user's request, where that is allowed. */
@Controller()
export class RenewalEffects {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(CertificateQueries) private readonly certificates: CertificateQueries,
    @Inject(RenewalSchedule) private readonly schedule: RenewalSchedule,
    @Inject(POSITIONS) private readonly positions: Positions,
  ) {}

  @OnTask('RenewCertificates', { attemptsMax: 50, backoffFirstMs: 1_000, timeoutMs: 60_000 })
  async renew(task: TaskOf<RenewCertificates>): Promise<RequeueAfter | void> {
    if (!this.schedule.isDesired) return undefined;
    // A task may begin a moment before the rows of its own event are written.
    if ((await this.positions.waitFor(task.data.seq, ROWS_WITHIN_MS)) !== true)
      return task.requeueAfter(ROWS_AGAIN_MS, 'the rows of the warning are not written yet');
    // Renewed meanwhile, by whomever; or the cluster is gone.
    if (!(await this.certificates.expire(task.namespace, task.cluster, task.data.uid))) return undefined;
    const waitMs = this.schedule.untilOpenMs();
    // It is not even asked for before: an upgrade that waits for its window would keep every other one out.
    if (waitMs > 0) return task.requeueAfter(Math.min(waitMs, LOOK_AGAIN_MS), 'its window is not open');
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      const id = idOf(task.data, attempt);
      const decided = await this.handle(
        upgrades,
        { namespace: task.namespace, cluster: task.cluster, context: 'request' },
        this.request(task, id),
        task.cause,
      );
      if (isRefusal(decided)) return task.requeueAfter(BUSY_AGAIN_MS, decided.message);
      const next = this.after(decided, id, task);
      if (next !== 'again') return next;
    }
    return undefined;
  }

  /** What a person has given up is not begun again; what a rule refused is asked for again, a day later. */
  private after(
    decided: Decided<UpgradesState>,
    id: UpgradeId,
    task: Pick<TaskOf<RenewCertificates>, 'requeueAfter'>,
  ): RequeueAfter | undefined | 'again' {
    if (decided.events.length > 0) return task.requeueAfter(LOOK_AGAIN_MS, 'the renewal was asked for');
    const phase = phaseOf(decided.state, id) ?? decided.state.latest?.phase;
    if (phase === 'Rejected') return 'again';
    // Completed, and some still end: what kubeadm does not renew is a matter for people, who have been warned.
    if (phase === 'Aborted' || phase === 'Completed') return undefined;
    return task.requeueAfter(BUSY_AGAIN_MS, 'another renewal is under way');
  }

  private request({ namespace, cluster, data }: TaskOf<RenewCertificates>, upgradeId: UpgradeId): RequestUpgrade {
    return {
      type: 'RequestUpgrade',
      data: {
        namespace,
        cluster,
        upgradeId,
        target: { renewCertificates: true, reboot: false },
        pools: [],
        controlPlane: true,
        strategy: UpgradeStrategy.parse({ windows: this.schedule.windows }),
        overrides: [],
        mode: 'go',
        requestHash: hashOf(data),
        actor: 'system/gateway',
      },
    };
  }
}
