import { ApiException } from '@kubernetes/client-node';
import { describe, expect, it } from '@jest/globals';
import { QUESTIONS, type Question } from '../../../../test/recorded/questions.js';
import { recorded, RECORDED_VERSIONS } from '../../../../test/recorded/recorded.js';
import { linesIn } from '../line.reader.fixtures.js';
import { failingIn } from './client-node.cluster.js';
import { DEPRECATED_METRIC, deprecatedApisIn } from './deprecated.metrics.js';
import { refusal } from './eviction.js';
import { freeDiskIn } from './kubelet.figures.js';

describe.each(RECORDED_VERSIONS)('recorded responses of a real control plane of %s', (kubernetes) => {
  const said = (question: Question): string => recorded(kubernetes, QUESTIONS[question]);

  it('to an eviction that a budget forbids name the budget and the reason', () => {
    const error = new ApiException(429, 'Unknown API Status Code!', said('eviction'), {});
    expect(refusal(error, 'kube-system')).toEqual({
      answer: 'refused',
      budget: 'kube-system/recorded',
      message: expect.stringMatching(
        /^Cannot evict pod as it would violate the pod's disruption budget\. The disruption budget recorded needs \d+ healthy pods and has \d+ currently$/,
      ),
    });
  });

  it('to an eviction of a pod with two budgets', () => {
    const error = new ApiException(500, 'Unknown API Status Code!', said('evictionOfTwo'), {});
    expect(refusal(error, 'kube-system')).toEqual({
      answer: 'refused',
      budget: null,
      message: expect.stringContaining('more than one PodDisruptionBudget'),
    });
  });

  it('about its disks contain the least free space', () =>
    expect(freeDiskIn(JSON.parse(`{"node":{${said('figures').trim().replace(/,$/, '')}}}`))).toBeGreaterThan(0));

  it('about its health contain the failing checks', () => {
    const well = said('ready');
    expect(failingIn({ status: 200, text: well })).toEqual([]);
    expect(well).toMatch(/^\[\+\]etcd ok$/m);
    const failing = well.replace('[+]etcd ok', '[-]etcd failed: reason withheld');
    expect(failingIn({ status: 500, text: failing })).toEqual(['etcd']);
    const message = 'error trying to reach service: dial tcp 192.0.2.4:6443: connect: connection refused';
    const status = JSON.stringify({ kind: 'Status', metadata: {}, status: 'Failure', message, code: 503 });
    expect(failingIn({ status: 503, text: status })).toEqual([`HTTP 503: ${message}`]);
    expect(failingIn({ status: 502, text: 'null' })).toEqual(['HTTP 502: null']);
  });

  it('contain requests for deprecated APIs', () =>
    expect(deprecatedApisIn(linesIn(said('deprecated'), DEPRECATED_METRIC))).toEqual(
      expect.arrayContaining([{ group: '', version: 'v1', resource: 'endpoints', removedIn: null }]),
    ));
});
