import { describe, expect, it } from '@jest/globals';
import { ladybugReasonOf, reasonCodeOf } from './failure.reasons.js';

describe('the reason of a failure', () => {
  it.each([
    ['CreateMCISFailedReason', 'MachineCreationFailed'],
    ['SetupBoostrapFailedReason', 'BootstrapFailed'],
    ['CallHookFailedReason', 'CallHookFailed'],
    ['quota.exceeded', 'quota.exceeded'],
    ['', ''],
  ])('%j is %j in our words, and itself again in those of CB-Ladybug', (recorded, ours) => {
    expect(reasonCodeOf(recorded)).toBe(ours);
    expect(ladybugReasonOf(ours)).toBe(recorded);
  });
});
