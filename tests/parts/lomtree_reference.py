"""LOMtree by its restored pseudo-code, with dictionaries and dense float64 weights: the kernel's reference."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Node:
    """A node of the reference: visits, training steps and score sums by class."""

    uid: int
    parent: int = -1
    left: int = -1
    right: int = -1
    slot: int = -1
    C: int = 0
    maxc: int = 0
    maxl: int = -1
    M: float = 0.0
    N: int = 0
    reached: dict[int, int] = field(default_factory=dict)
    n: dict[int, int] = field(default_factory=dict)
    m: dict[int, float] = field(default_factory=dict)


class Reference:
    """The restored pseudo-code, with dictionaries and dense float64 weights."""

    def __init__(self, n_features: int, budget: int, resistance: float, loss: str, adaptive: bool, eta: float) -> None:
        self.nodes, self.root, self.t, self.next_uid = [Node(0)], 0, 0, 1
        self.budget, self.resistance, self.loss, self.adaptive, self.eta = budget, resistance, loss, adaptive, eta
        self.w, self.G = np.zeros((budget, n_features + 1)), np.zeros((budget, n_features + 1))
        self.examples = self.swaps = self.lost = self.roots = 0

    def learn(self, x: np.ndarray, y: int) -> None:
        x, j = np.append(x.astype(np.float64), 1.0), self.root
        while True:
            node = self.nodes[j]
            node.reached[y] = node.reached.get(y, 0) + 1
            if node.reached[y] > node.maxc:
                node.maxc, node.maxl = node.reached[y], y
            if node.left < 0 and not self.split(j):
                break
            E = node.M / node.N if node.N else 0.0
            e = node.m.get(y, 0.0) / node.n[y] if node.n.get(y) else 0.0
            s = self.step(node.slot, x, -1.0 if e < E else 1.0)
            node.m[y], node.n[y] = node.m.get(y, 0.0) + s, node.n.get(y, 0) + 1
            node.M, node.N = node.M + s, node.N + 1
            j = node.left if s < 0 else node.right
        self.nodes[j].C += 1
        self.examples += 1
        self.update_c(j)

    def step(self, slot: int, x: np.ndarray, c: float) -> float:
        h = float(self.w[slot] @ x)
        g = {
            "hinge": c if c * h < 1 else 0.0,
            "absolute": float(np.sign(c - h)),
            "squared": c - h,
            "logistic": c / (1 + np.exp(c * h)),
        }[self.loss]
        if g == 0:
            return h
        r = x.copy()
        if self.adaptive:
            self.G[slot] += g * g * x * x
            r = np.divide(x, np.sqrt(self.G[slot]), out=np.zeros_like(x), where=self.G[slot] > 0)
        A = float(x @ r)
        eta = self.eta if self.loss == "logistic" else min(self.eta, abs(c - h) / (A * abs(g)))
        self.w[slot] += eta * g * r
        return c if eta < self.eta else h + eta * g * A

    def split(self, j: int) -> bool:
        node = self.nodes[j]
        if len(node.reached) < 2:
            return False
        if self.t < self.budget:
            a, b = len(self.nodes), len(self.nodes) + 1
            self.nodes += [Node(-1), Node(-1)]
            node.slot, self.t = self.t, self.t + 1
        elif node.C - node.maxc > self.resistance * (self.nodes[self.root].C + 1):
            freed = self.swap(j)
            if freed is None:
                return False
            a, b = freed
        else:
            return False
        for v in (a, b):
            self.nodes[v] = Node(self.next_uid, parent=j, maxl=node.maxl)
            self.next_uid += 1
        node.left, node.right = a, b
        self.nodes[a].C, self.nodes[b].C = node.C // 2, node.C - node.C // 2
        node.C = node.C // 2
        self.update_c(j)
        return True

    def swap(self, j: int) -> tuple[int, int] | None:
        s = self.root
        while self.nodes[s].left >= 0:
            left, right = self.nodes[s].left, self.nodes[s].right
            s = left if self.nodes[left].C < self.nodes[right].C else right
        if s == j:
            return None
        p = self.nodes[s].parent
        b = self.nodes[p].left + self.nodes[p].right - s
        self.swaps, self.lost = self.swaps + 1, self.lost + self.nodes[s].C
        g = self.nodes[p].parent
        self.nodes[b].parent = g
        if p == self.root:
            self.root, self.roots = b, self.roots + 1
        else:
            if self.nodes[g].left == p:
                self.nodes[g].left = b
            else:
                self.nodes[g].right = b
            self.update_c(b)
        slot = self.nodes[j].slot = self.nodes[p].slot
        self.w[slot], self.G[slot] = 0.0, 0.0
        return s, p

    def update_c(self, v: int) -> None:
        while v != self.root:
            v = self.nodes[v].parent
            least = min(self.nodes[self.nodes[v].left].C, self.nodes[self.nodes[v].right].C)
            if least == self.nodes[v].C:
                break
            self.nodes[v].C = least
