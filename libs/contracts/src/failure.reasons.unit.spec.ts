import { describe, expect, it } from '@jest/globals';
import { ladybugReasonOf, reasonCodeOf } from './failure.reasons.js';

describe('the reason of a failure', () => {
  it.each([
    ['CreateMCISFailedReason', 'MachineCreationFailed'],
    ['SetupBoostrapFailedReason', 'BootstrapFailed'],
    ['AddNodeEntityFailedReason', 'MachineAddressMissing'],
    ['SetupHaproxyFailedReason', 'ApiBalancingFailed'],
    ['CallHookFailedReason', 'CallHookFailed'],
    ['quota.exceeded', 'quota.exceeded'],
    ['', ''],
  ])('%j is %j in our words, and itself again in those of CB-Ladybug', (recorded, ours) => {
    expect(reasonCodeOf(recorded)).toBe(ours);
    expect(ladybugReasonOf(ours)).toBe(recorded);
  });

  it.each([
    ['cluster.spec-cpu', 'InvalidMCIRReason'],
    ['cluster.region-unknown', 'InvalidMCIRReason'],
    ['cluster.machines-exist', 'AlreadyExistMCISFailedReason'],
  ])('%s is a code of a refusal, and %s in the words of CB-Ladybug [CB-Ladybug 25]', (code, theirs) => {
    expect(reasonCodeOf(code)).toBe(code);
    expect(ladybugReasonOf(code)).toBe(theirs);
  });
});
