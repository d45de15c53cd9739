import type { MaintenanceWindow } from '@fairlead/contracts';
import { d7Window } from '@fairlead/domain';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { SETTINGS, type Settings } from '../config.js';

/** Whether certificates are renewed by themselves here, and when control planes may be touched for it. */
@Injectable()
export class RenewalSchedule {
  constructor(
    @Inject(SETTINGS) private readonly config: Pick<Settings, 'renewal' | 'renewalWindows'>,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  get isDesired(): boolean {
    return this.config.renewal === 'renew';
  }

  get windows(): MaintenanceWindow[] {
    return [...this.config.renewalWindows];
  }

  /** 0: one is open now. */
  untilOpenMs(): number {
    const now = this.clock.now();
    const { open, changesAt } = d7Window(this.config.renewalWindows, now.toISOString());
    if (open) return 0;
    return changesAt === null ? Infinity : Date.parse(changesAt) - now.getTime();
  }
}
