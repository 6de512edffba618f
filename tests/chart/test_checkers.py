# SPDX-License-Identifier: Apache-2.0
"""What other programs say of the charts: kubeconform, with the schemas of the
oldest Kubernetes that is supported and of the one the tests run on, and
helm-unittest, with what was rendered before."""

import re
import subprocess
import tempfile
import unittest

import charts
import schemas
from charts import CHART, ROOT, Rendered, control_plane

OLDEST = "v1.28.15"
NEWEST, = re.findall(r"^(?:require|\t)\s*k8s\.io/kubernetes (v\S+)", (
    ROOT / "deploy" / "local" / "kubernetes" / "go.mod").read_text(), re.MULTILINE)[:1]
ALL_ON = control_plane(
    replicas=2, kubeAPIQPS=10, kubeAPIBurst=20,
    podDisruptionBudget={"enabled": True, "minAvailable": "50%"},
    topologySpreadConstraints=[{"maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway",
                                "topologyKey": "kubernetes.io/hostname"}],
    tolerations=[{"operator": "Exists"}], uninstallGuard={"enabled": True},
    networkPolicy={"enabled": True}, flowSchema={"enabled": True},
    dashboard={"enabled": True})


class Kubeconform(unittest.TestCase):
    def conforms(self, version, text):
        try:
            folder = schemas.of_version(version)
        except OSError as error:
            print(f"  skipped: no schemas of Kubernetes {version}: {error}")
            self.skipTest(str(error))
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            return subprocess.run(
                [f"{charts.tools()}/kubeconform", "-strict", "-summary",
                 "-schema-location", f"{folder}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json",
                 file.name], text=True, capture_output=True, check=False)

    def test_every_object_is_as_Kubernetes_describes_it(self):
        for version in (OLDEST, NEWEST):
            for values in ({}, ALL_ON):
                r = Rendered(values, "--kube-version", version)
                done = self.conforms(version, r.text)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn(f"Valid: {len(r.items)}, Invalid: 0, Errors: 0, Skipped: 0",
                              done.stdout)

    def test_it_would_see_a_member_that_there_is_not(self):
        text = Rendered().text.replace("automountServiceAccountToken:", "automount:")
        done = self.conforms(NEWEST, text)
        self.assertEqual(done.returncode, 1)
        self.assertIn("automount", done.stdout)


class Golden(unittest.TestCase):
    def test_the_charts_render_what_they_did(self):
        done = subprocess.run([f"{charts.tools()}/helm-unittest", "--strict", CHART],
                              text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
