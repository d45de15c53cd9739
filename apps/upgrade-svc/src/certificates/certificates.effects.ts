import { HANDLE, OnJob, type Handle, type Job } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Controller, Inject } from '@nestjs/common';
import { decideFor } from '../rollout/decisions.js';
import { certificates } from './certificates.decider.js';
import type { LookAtNode } from './certificates.process.js';

/** Tells of certificates that end soon, in time to renew them. */
@Controller()
export class CertificatesEffects {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @OnJob<LookAtNode>('LookAtCertificates', { attemptsMax: 50, backoffFirstMs: 1_000, timeoutMs: 60_000 })
  async lookAtCertificates(job: Job<LookAtNode>): Promise<void> {
    const { uid, node } = job.data;
    const data = { uid, node, now: this.clock.now().toISOString() };
    const command = { type: 'LookAtCertificates' as const, data };
    await decideFor(this.handle, job, { decider: certificates, context: 'rollout', command });
  }
}
