# SPDX-License-Identifier: Apache-2.0
"""What other programs say of the charts: kubeconform, with the schemas of every
Kubernetes from the oldest that is supported to the newest, and helm-unittest, with
what was rendered before."""

import re
import subprocess
import tempfile
import unittest

import charts
import schemas
from charts import CHART, ROOT, Rendered, control_plane

VERSIONS = ("v1.28.15", "v1.29.6", "v1.30.14", "v1.31.14", "v1.32.13", "v1.33.13",
            "v1.34.4", "v1.35.4", "v1.36.3", "v1.37.2")
ALL_ON = control_plane(
    replicas=2, kubeAPIQPS=10, kubeAPIBurst=20, requireSandbox=True,
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
        for version in VERSIONS:
            for values in ({}, ALL_ON):
                with self.subTest(version=version, values=values):
                    r = Rendered(values, "--kube-version", version)
                    done = self.conforms(version, r.text)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                    self.assertIn(f"Valid: {len(r.items)}, Invalid: 0, Errors: 0, Skipped: 0",
                                  done.stdout)

    def test_they_are_all_from_the_oldest_on(self):
        """To the one that the tests run on, or beyond."""
        minors = [int(version.split(".")[1]) for version in VERSIONS]
        oldest, = re.findall(r'^kubeVersion: ">=1\.(\d+)\.0-0"$', (
            CHART / "Chart.yaml").read_text(), re.MULTILINE)
        ours, = re.findall(r"^\tk8s\.io/kubernetes v1\.(\d+)", (
            ROOT / "deploy" / "local" / "kubernetes" / "go.mod").read_text(), re.MULTILINE)
        self.assertEqual(minors, list(range(int(oldest), minors[-1] + 1)))
        self.assertGreaterEqual(minors[-1], int(ours))

    def test_it_would_see_a_member_that_there_is_not(self):
        text = Rendered().text.replace("automountServiceAccountToken:", "automount:")
        done = self.conforms(VERSIONS[-1], text)
        self.assertEqual(done.returncode, 1)
        self.assertIn("automount", done.stdout)


class Golden(unittest.TestCase):
    def test_the_charts_render_what_they_did(self):
        done = subprocess.run([f"{charts.tools()}/helm-unittest", "--strict", CHART],
                              text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
