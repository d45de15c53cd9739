import { expect, it } from '@jest/globals';
import { linesIn } from '../line.reader.fixtures.js';
import { DEPRECATED_METRIC, deprecatedApisIn } from './deprecated.metrics.js';

it('parses requests for deprecated APIs, including those without a removal release', () => {
  const metrics = [
    '# TYPE apiserver_requested_deprecated_apis gauge',
    'apiserver_requested_deprecated_apis{group="",removed_release="",resource="endpoints",subresource="",version="v1"} 1',
    'apiserver_requested_deprecated_apis{group="policy",removed_release="1.25",resource="podsecuritypolicies",version="v1beta1"} 1',
    'apiserver_requested_deprecated_apis{group="x",removed_release="1.40",resource="y",version="v1"} 0',
  ].join('\n');
  expect(deprecatedApisIn(linesIn(metrics, DEPRECATED_METRIC))).toEqual([
    { group: '', version: 'v1', resource: 'endpoints', removedIn: null },
    { group: 'policy', version: 'v1beta1', resource: 'podsecuritypolicies', removedIn: '1.25' },
  ]);
});
